// Tests of `attach` in a real terminal. Needs tmux, so only .ci/run runs it, not npm test.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { readEvents } from "../../support/read-events.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";
import { openTerminal } from "../../support/tmux.ts";

const lines = "for n in 1 2 3; do echo line $n; sleep 0.05; done";
const waitFor = (name: string) => `until [ -e ${name} ]; do sleep 0.02; done`;

test("attach shows past and new output, sends a typed line, and detaches with Ctrl-C", async () => {
  const server = startModelServer(shellScript([lines, waitFor("go-on"), waitFor("end")], "All done."), { count: "requests" });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const args = ["run", "count the lines", "--session", "count", "-m", wireModels.anthropic, "--output-format", "events"];
    const run = readEvents(skein.start(args));
    await run.until((event) => event.type === "node.added" && event.node?.parts[0]?.kind === "result");
    await using terminal = await openTerminal(skein, { columns: 80, rows: 24 });
    const { press, until } = terminal;
    await press("skein attach count", "Enter");
    await until("• bash until [ -e go-on ]");
    await press("be quick, ple");
    await until("> be quick, ple");
    // Output that arrives while the user types appears above the typed line.
    writeFileSync(join(skein.project, "go-on"), "");
    await until(/• bash until \[ -e end \]; do sleep 0\.02; done\n> be quick, ple\s*$/);
    await press("ase", "Enter");
    await until(/> be quick, please\n[^]*waits for the agent's next step: be quick, please/);
    await press("C-c");
    await until(/left count; its turn continues\n {2}skein attach count [^]*\n\$/);
    await press("stty -a", "Enter");
    expect(await until(/ -?echo echoe/)).toMatch(/ icanon [^]* echo /);
    await press("clear; skein attach count", "Enter");
    await until("• bash until [ -e end ]");
    writeFileSync(join(skein.project, "end"), "");
    const screen = await until(/All done\.\nok · 4 steps/);
    expect(screen).toContain("> be quick, please\n  given to the agent: be quick, please");
    expect((await run.ended).code).toBe(0);
    await terminal[Symbol.asyncDispose]();
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  } finally {
    await server.stop();
  }
}, 300_000);
