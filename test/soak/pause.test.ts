// Tests skein pause and resume from another terminal. A paused turn sends nothing, runs nothing and loses nothing.
import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { pauseReport, turnInfo } from "../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { isStopped } from "../../src/kit/process/processes.ts";
import { readEvents } from "../support/read-events.ts";
import { longRunModel, startLongRun } from "../support/long-run.ts";
import { childrenOf, waitForNoProcesses } from "../support/processes.ts";
import { type TemporaryHome, temporaryHome, vendorEnv, wireModels } from "../support/temporary-home.ts";
import { quietestSecond, until } from "../support/cpu-time.ts";

const model = wireModels.anthropic;
/** Writes until the file `end` exists. One loop runs in its own process session. */
const loop = (file: string) => `while [ ! -e end ]; do date +%s%N >> ${file}; sleep 0.02; done`;
const loops = `echo started; setsid bash -c '${loop("own")}' & ${loop("plain")}; wait; echo whole`;

/** Both programs that start a sandbox. */
const launchers: [string, Record<string, string>][] = [
  ["native launcher", {}],
  ["launcher in JavaScript", { SKEIN_SANDBOX_LAUNCHER: "javascript" }],
];

const sizes = (skein: TemporaryHome) =>
  ["plain", "own"].map((name) => statSync(join(skein.project, name), { throwIfNoEntry: false })?.size ?? 0);
const stateOf = async (skein: TemporaryHome, name: string) => {
  const turns = turnInfo.array().parse((await skein.run(["ps", "--json"])).json());
  return turns.find((turn) => turn.session.name === name)?.state ?? null;
};
const reportOf = async (skein: TemporaryHome, ...args: string[]) => pauseReport.parse((await skein.run([...args, "--json"])).json());

test("a paused run writes, computes and requests nothing for longer than its time limit, and finishes after resume", async () => {
  const server = startModelServer(shellScript([loops], "went on"));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const run = readEvents(skein.start(["run", "loop", "--session", "long", "-m", model, "--timeout", "15", "--output-format", "events"]));
    await run.until((event) => event.type === "tool.output");
    await until(() => sizes(skein).every((size) => size > 0), "both loops write");
    expect(await reportOf(skein, "pause", "long")).toMatchObject({ state: "paused", pid: run.child.pid });
    const [before, requestCount] = [sizes(skein), server.requests.length];
    expect(await quietestSecond(run.child.pid)).toBeLessThanOrEqual(1);
    expect(await skein.run(["pause", "long"])).toMatchObject({ code: 0, out: "long is already paused\n", err: "" });
    expect(await stateOf(skein, "long")).toBe("paused");
    await Bun.sleep(15_000);
    expect([sizes(skein), server.requests.length]).toEqual([before, requestCount]);

    expect(await reportOf(skein, "resume", "long")).toMatchObject({ state: "running", pid: run.child.pid });
    expect(await skein.run(["resume", "long"])).toMatchObject({ code: 0, out: "long was not paused; its turn is running\n", err: "" });
    await until(() => sizes(skein).every((size, index) => size > before[index]!), "both loops continue");
    await Bun.write(join(skein.project, "end"), "");
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(run.printed.filter(({ type }) => /^turn\.(paused|resumed)$/.test(type)).map(({ type }) => type)).toEqual([
      "turn.paused",
      "turn.resumed",
    ]);
    expect(run.printed.at(-1)).toMatchObject({ type: "result", status: "ok", result: "went on" });
    expect(await skein.run(["pause", "long"])).toMatchObject({ code: 0, out: "nothing is running in long\n" });
    expect(await skein.run(["resume", "long"])).toMatchObject({
      code: 0,
      out: "nothing is running in long; continue it with: skein run --resume long\n",
    });
  } finally {
    await server.stop();
  }
}, 300_000);

test("a streaming answer is not read during a pause, and is complete in the end", async () => {
  const model = { requests: 0, dots: 0, isHeld: true };
  const server = startLongRun({
    steps: 0,
    calls: 1,
    beforeStep: () => void (model.requests += 1),
    isHeldAt: (index) => index === 5 && model.isHeld && (model.dots += 1) > 0,
  });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const run = readEvents(skein.start(["run", "talk", "--session", "talk", "-m", longRunModel, "--output-format", "events"]));
    await run.until((event) => event.type === "text.delta");
    await reportOf(skein, "pause", "talk");
    await run.until((event) => event.type === "turn.paused");
    // Buffered text may still be printed. The model sends three dots per second.
    const isQuiet = async () => {
      const before = run.printed.length;
      await Bun.sleep(1_000);
      return run.printed.length === before;
    };
    await until(isQuiet, "nothing more is printed");
    model.isHeld = false;
    await reportOf(skein, "resume", "talk");
    expect(await run.ended).toMatchObject({ code: 0 });
    const result = `0.0 0.1 0.2 0.3 0.4 ${".".repeat(model.dots)}0.5 0.6 0.7 0.8 0.9 done`;
    expect([run.printed.at(-1), model.requests]).toEqual([expect.objectContaining({ status: "ok", result }), 1]);
  } finally {
    await server.stop();
  }
}, 300_000);

test.each(launchers)(
  "a run that is killed while it is paused leaves no process (%s)",
  async (_name, env) => {
    const server = startModelServer(shellScript([loops], "went on"));
    using skein = temporaryHome({ ...vendorEnv(server.url), ...env });
    try {
      for (const args of [
        ["kill", "long"],
        ["kill", "long", "--force"],
      ]) {
        const run = readEvents(skein.start(["run", "loop", "--session", "long", "-m", model, "--output-format", "events"]));
        await run.until((event) => event.type === "tool.output");
        await reportOf(skein, "pause", "long");
        const family = childrenOf(run.child.pid);
        expect(await skein.run([...args])).toMatchObject({ code: 0 });
        await run.ended;
        expect(await waitForNoProcesses(skein.root, 20_000, { family })).toEqual([]);
      }
    } finally {
      await server.stop();
    }
  },
  300_000,
);

test.each(launchers)(
  "a paused skein that gets SIGKILL leaves no process (%s)",
  async (_name, env) => {
    const server = startModelServer(shellScript([loops], "went on"));
    using skein = temporaryHome({ ...vendorEnv(server.url), ...env });
    try {
      for (const policy of ["workspace", "full"]) {
        const run = readEvents(
          skein.start(["run", "loop", "--session", policy, "-m", model, "--policy", policy, "--output-format", "events"]),
        );
        await run.until((event) => event.type === "tool.output");
        await reportOf(skein, "pause", policy);
        const family = childrenOf(run.child.pid);
        run.child.kill("SIGKILL");
        await run.ended;
        expect(await waitForNoProcesses(skein.root, 20_000, { family })).toEqual([]);
      }
    } finally {
      await server.stop();
    }
  },
  300_000,
);

test("pause --force stops the process and its descendants; ps shows it, and resume and kill work on it", async () => {
  const server = startModelServer(shellScript([loops], "went on"));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const run = readEvents(skein.start(["run", "loop", "--session", "long", "-m", model, "--output-format", "events"]));
    await run.until((event) => event.type === "tool.output");
    expect(await skein.run(["pause", "long", "--force"])).toMatchObject({ code: 0, out: "paused long\n" });
    const family = [run.child.pid, ...childrenOf(run.child.pid).map(({ pid }) => pid)];
    await until(() => family.every(isStopped), "everything is stopped");
    expect(await stateOf(skein, "long")).toBe("paused");
    expect(await reportOf(skein, "pause", "long")).toMatchObject({ state: "paused", pid: run.child.pid });
    expect(await skein.run(["resume", "long"])).toMatchObject({ code: 0, out: "resumed long\n" });
    expect(family.some(isStopped)).toBe(false);
    expect(await stateOf(skein, "long")).toBe("running");

    await reportOf(skein, "pause", "long", "--force");
    expect(await skein.run(["kill", "long"])).toMatchObject({ code: 0, out: "stopped long\n" });
    await run.ended;
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  } finally {
    await server.stop();
  }
}, 300_000);

test("a command of exec is paused and resumed", async () => {
  const server = startModelServer(shellScript([]));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await skein.run(["new", "bench", "-m", model]);
    const exec = skein.start(["exec", "bench", loops]);
    await until(() => sizes(skein).every((size) => size > 0), "both loops write");
    await reportOf(skein, "pause", "bench");
    const before = sizes(skein);
    expect(await quietestSecond(exec.pid)).toBeLessThanOrEqual(1);
    expect(sizes(skein)).toEqual(before);
    await Bun.write(join(skein.project, "end"), "");
    await reportOf(skein, "resume", "bench");
    expect(await new Response(exec.stdout).text()).toContain("whole");
    expect(await exec.exited).toBe(0);
  } finally {
    await server.stop();
  }
}, 300_000);
