// Pauses turns of fake CLIs of agents. Every process of the CLI must be stopped in its sandbox, and the gateway must forward
// nothing. test/real/clis/pause.test.ts does the same with the real CLIs.
import { expect, test } from "bun:test";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { pauseReport } from "../../src/protocol/fixtures/printed-schemas.ts";
import { homeWithFakeClis } from "../support/fake-clis.ts";
import { readEvents } from "../support/read-events.ts";
import { waitForNoProcesses } from "../support/processes.ts";
import { type TemporaryHome, vendorEnv } from "../support/temporary-home.ts";
import { quietestSecond, until } from "../support/cpu-time.ts";

const sizes = (skein: TemporaryHome) =>
  ["plain", "own"].map((name) => statSync(join(skein.project, name), { throwIfNoEntry: false })?.size ?? 0);
const stateAfter = async (skein: TemporaryHome, verb: "pause" | "resume") =>
  pauseReport.parse((await skein.run([verb, "long", "--json"])).json()).state;

for (const agent of ["claude", "codex", "gemini", "opencode", "pi"]) {
  test(`${agent} is paused with all its processes, and finishes its turn after resume`, async () => {
    using skein = homeWithFakeClis([agent]);
    const run = readEvents(skein.start(["run", "fake:busy", "--session", "long", "-a", agent, "--output-format", "events"]));
    await until(() => sizes(skein).every((size) => size > 0), "both loops write");
    expect(await stateAfter(skein, "pause")).toBe("paused");
    const before = sizes(skein);
    expect(await quietestSecond(run.child.pid)).toBeLessThanOrEqual(1);
    expect(sizes(skein)).toEqual(before);
    expect(await stateAfter(skein, "resume")).toBe("running");
    await until(() => sizes(skein).every((size, index) => size > before[index]!), "both loops continue");
    await Bun.write(join(skein.project, "end"), "");
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(run.printed.at(-1)).toMatchObject({ type: "result", status: "ok" });
  }, 300_000);
}

test("a CLI that is killed while it is paused leaves no process, with and without a sandbox", async () => {
  using skein = homeWithFakeClis(["claude"]);
  for (const policy of ["workspace", "full"]) {
    const args = ["--session", "long", "-a", "claude", "--policy", policy, "--output-format", "events"];
    const run = readEvents(skein.start(["run", "fake:busy", ...args]));
    await run.until((event) => event.type === "turn.started");
    await until(() => sizes(skein).every((size) => size > 0), "both loops write");
    expect(await stateAfter(skein, "pause")).toBe("paused");
    expect(await skein.run(["kill", "long"])).toMatchObject({ code: 0, out: "stopped long\n" });
    await run.ended;
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    for (const name of ["plain", "own"]) rmSync(join(skein.project, name));
  }
}, 300_000);

test("an answer in transit waits in the gateway during a pause, and no request is forwarded", async () => {
  const vendor = startModelServer({ steps: [], final: "thought about" });
  const isPaused = Promise.withResolvers<void>();
  const answerAfterPause = async (request: Request, path: string) => {
    await isPaused.promise;
    return fetch(`${vendor.url}${path}`, { method: request.method, headers: request.headers, body: request.body });
  };
  let requestCount = 0;
  const server = startModelServer(
    { steps: [], final: "" },
    { route: (request, path) => ((requestCount += 1), answerAfterPause(request, path)) },
  );
  using skein = homeWithFakeClis(["claude"], vendorEnv(server.url));
  try {
    const run = readEvents(skein.start(["run", "fake:thinks", "--session", "long", "-a", "claude", "--output-format", "events"]));
    await until(() => requestCount > 0, "the vendor gets a request");
    expect(await stateAfter(skein, "pause")).toBe("paused");
    isPaused.resolve();
    expect(await quietestSecond(run.child.pid)).toBeLessThanOrEqual(2);
    await Bun.sleep(2_000);
    expect([run.printed.some(({ type }) => type === "turn.ended"), requestCount]).toEqual([false, 1]);
    expect(await stateAfter(skein, "resume")).toBe("running");
    expect(await run.ended).toMatchObject({ code: 0 });
  } finally {
    await Promise.all([server.stop(), vendor.stop()]);
  }
}, 300_000);
