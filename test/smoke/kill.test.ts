// `skein kill` from another terminal: the turn ends, is recorded, and can be resumed.
import { expect, test } from "bun:test";
import { killReport, result } from "../../src/protocol/fixtures/printed-schemas.ts";
import { readEvents } from "../support/read-events.ts";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { waitForNoProcesses } from "../support/processes.ts";
import { temporaryHome, vendorEnv, wireModels } from "../support/temporary-home.ts";

const model = wireModels.anthropic;

test("kill stops a turn of another process, and --resume continues it", async () => {
  const server = startModelServer(shellScript(["echo begun; setsid sleep 86398 & sleep 86398"], "went on"));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const run = readEvents(skein.start(["run", "wait long", "--session", "long", "-m", model, "--output-format", "events"]));
    await run.until((event) => event.type === "tool.output");
    const report = killReport.parse((await skein.run(["kill", "long", "--json"])).json());
    expect(report).toMatchObject({ outcome: "stopped", pid: run.child.pid, status: "cancelled" });
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    expect((await run.ended).code).toBe(130);
    expect(run.printed.at(-1)).toMatchObject({ type: "result", status: "cancelled" });

    expect(await skein.run(["kill", "long"])).toMatchObject({ code: 0, out: "nothing is running in long\n", err: "" });
    const resumed = result.parse((await skein.run(["run", "--resume", "long", "--json"])).json());
    expect(resumed).toMatchObject({ status: "ok", result: "went on", session_id: report.session });
  } finally {
    await server.stop();
  }
});

test("kill stops a command of exec, and repairs a session whose process got SIGKILL", async () => {
  const server = startModelServer(shellScript(["echo begun; sleep 86397"]));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await skein.run(["new", "bench", "-m", model]);
    const exec = skein.start(["exec", "bench", "echo begun; sleep 86397"]);
    await exec.stdout.getReader().read();
    expect(await skein.run(["kill", "bench"])).toMatchObject({ code: 0, out: "stopped bench\n" });
    await exec.exited;

    const run = readEvents(skein.start(["run", "wait long", "--session", "bench", "-m", model, "--output-format", "events"]));
    await run.until((event) => event.type === "tool.output");
    run.child.kill("SIGKILL");
    await run.ended;
    const repaired = await skein.run(["kill", "bench"]);
    expect(repaired).toMatchObject({ code: 0, out: "the process that ran bench was gone; its turn is recorded as killed\n" });
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    expect((await skein.run(["verify", "--json"])).json()).toMatchObject({ ok: true });
  } finally {
    await server.stop();
  }
});
