// Tests the live output of a running turn in a real terminal of 80x24. It needs tmux, so only .ci/run runs it, not npm test.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { field, listOf } from "../../../src/scripted-model/json.ts";
import { startModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { findProcess } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";
import { openTerminal, type Terminal } from "../../support/tmux.ts";

const bash = (command: string) => ({ calls: [{ input: { command } }] });
const waitFor = (name: string) => `until [ -e ${name} ]; do sleep 0.02; done`;
const run = `skein run "go" --session work -m ${wireModels.anthropic}`;
const spinner = "[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]";

async function inTerminal(script: ScriptSource, act: (terminal: Terminal, skein: TemporaryHome) => Promise<void>): Promise<void> {
  const server = startModelServer(script);
  try {
    using skein = temporaryHome(vendorEnv(server.url));
    await using terminal = await openTerminal(skein, { columns: 80, rows: 24 });
    await act(terminal, skein);
  } finally {
    await server.stop();
  }
}

test("a slow model has one row with its name and the elapsed time, which is gone at the end", async () => {
  await inTerminal({ steps: [{ delayMs: 2_000, ...bash("true") }], final: "All done." }, async ({ press, until }) => {
    await press(run, "Enter");
    await until(new RegExp(`session work\\n${spinner} waiting for anthropic/claude-sonnet-4-5 · 1 s\\s*$`));
    expect(await until(/ok · 2 steps[^]*\n\$/)).not.toContain("waiting for");
  });
}, 120_000);

test("a slow command shows its last five lines below its call, also after a resize", async () => {
  const command = `for n in $(seq 1 8); do echo line $n; done; ${waitFor("go")}`;
  await inTerminal({ steps: [bash(command)], final: "All done." }, async (terminal, skein) => {
    await terminal.press(run, "Enter");
    const rows = `${spinner} bash for n in [^\\n]* · \\d s\\n    line 4\\n    line 5\\n    line 6\\n    line 7\\n    line 8\\s*$`;
    await terminal.until(new RegExp(rows));
    await terminal.resize(50, 20);
    await terminal.until(new RegExp(`${spinner} bash for n in [^\\n]{1,40} · \\d+ s\\n    line 4[^]*line 8\\s*$`));
    await terminal.resize(80, 24);
    writeFileSync(join(skein.project, "go"), "");
    const screen = await terminal.until(/ok · 2 steps[^]*\n\$/);
    expect(screen).toContain("  line 1 (+7 lines)\nAll done.\n");
    expect(screen).not.toContain("    line 8");
  });
}, 120_000);

test("three sub-sessions are shown at once, in half of the screen", async () => {
  const spawn = (name: string) => ({ name: "spawn_session", input: { task: `sub ${name}` } });
  const script: ScriptSource = ({ body }) => {
    const task = /sub (\w)/.exec(JSON.stringify(listOf(field(body, "messages"))[0]))?.[1];
    if (task !== undefined) return { steps: [bash(`seq 1 9; echo from ${task}; ${waitFor("go")}`)], final: "counted" };
    return { steps: [{ calls: ["a", "b", "c"].map(spawn) }], final: "All done." };
  };
  await inTerminal(script, async ({ press, until }, skein) => {
    await press(run, "Enter");
    const sub = (name: string) => `${spinner} \\w{8} native · sub ${name} · [^\\n]* · \\d s\\n(    \\d\\n)*    from ${name}\\n`;
    await until(new RegExp(`${sub("a")}${sub("b")}${sub("c")}`));
    writeFileSync(join(skein.project, "go"), "");
    expect(await until(/ok · 2 steps[^]*\n\$/)).not.toContain("    from");
  });
}, 120_000);

test("a failing test leaves its last ten lines on the screen", async () => {
  const failing = bash("seq 1 30; echo 'expected 3, got 4'; exit 1");
  await inTerminal({ steps: [failing], final: "It fails." }, async ({ press, until }) => {
    await press(run, "Enter");
    const screen = await until(/ok · 2 steps[^]*\n\$/);
    expect(screen).toContain("  ✗ exit code 1 (last 10 of 31 lines)\n    22\n");
    expect(screen).toContain("    30\n    expected 3, got 4\nIt fails.\n");
  });
}, 120_000);

test("Ctrl-C and SIGTERM leave no row and a working terminal", async () => {
  await inTerminal({ steps: [bash("echo started; sleep 300")], final: "All done." }, async ({ press, until, screen }, skein) => {
    for (const stop of ["C-c", "SIGTERM"]) {
      // Otherwise the output of the first run may be taken for that of the second, which has no signal handler yet.
      await press("clear", "Enter");
      await until(/^\$ *\n*$/);
      await press(run, "Enter");
      await until(/ {4}started/);
      if (stop === "C-c") await press("C-c");
      else process.kill((await findProcess(skein.root, (command) => command.includes("run go --session work"))).pid, "SIGTERM");
      await until(/cancelled · \d step[^\n]*\n\$/);
      expect(await screen()).not.toMatch(new RegExp(spinner));
    }
    await press("clear; stty -a", "Enter");
    expect(await until(/ -?echo echoe/)).toMatch(/ icanon [^]* echo /);
  });
}, 120_000);

test("attach and logs -f show the running command of another process, and a dumb terminal gets only lines", async () => {
  const script = { steps: [bash(`echo first; ${waitFor("go")}`)], final: "All done." };
  await inTerminal(script, async ({ press, until, scrollback }, skein) => {
    const other = skein.start(["run", "go", "--session", "work", "-m", wireModels.anthropic]);
    for await (const chunk of other.stderr) if (Buffer.from(chunk).includes("bash")) break;
    for (const command of ["attach", "logs -f"]) {
      await press(`clear; skein ${command} work`, "Enter");
      await until(new RegExp(`${spinner} bash echo first[^\\n]* · \\d+ s\\n    first`));
      await press("C-c");
      await until(/\n\$ *\n*$/);
    }
    await press("clear; TERM=dumb skein attach work", "Enter");
    await until("• bash echo first");
    writeFileSync(join(skein.project, "go"), "");
    await until("ok · 2 steps");
    expect((await scrollback()).slice(-2_000)).not.toMatch(new RegExp(`${spinner} bash echo first[^]*ok · 2 steps`));
    expect(await other.exited).toBe(0);
  });
}, 120_000);
