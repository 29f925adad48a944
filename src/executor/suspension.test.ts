// Calls that stand still, in both kinds of executor: no process of theirs runs, no time of theirs passes.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PauseGate } from "../kit/flow/pause-gate.ts";
import { familyMembers, isStopped } from "../kit/process/processes.ts";
import type { Executor, ToolCallOptions } from "../protocol/api/ports.ts";
import { startTestExecutor } from "./fixtures/test-executor.ts";

const directory = mkdtempSync(join(tmpdir(), "standstill-"));
const env = { PATH: process.env.PATH, HOME: directory };
afterAll(() => rmSync(directory, { recursive: true }));

/** A turn of a session: its gate, and a way to run commands in it. */
function turnOf(executor: Executor, session = crypto.randomUUID() as string) {
  const gate = new PauseGate();
  const pausable: ToolCallOptions["pausable"] = (part) => gate.add(part);
  const stop = new AbortController();
  stop.signal.addEventListener("abort", () => gate.release());
  const printed: string[] = [];
  const bash = (command: string, timeout?: number) =>
    executor.callTool(
      "bash",
      { command, ...(timeout === undefined ? {} : { timeout }) },
      {
        session,
        cwd: directory,
        env: {},
        signal: stop.signal,
        pausable,
        onOutput: (chunk) => printed.push(Buffer.from(chunk).toString()),
      },
    );
  const members = () => familyMembers({ root: null, envTag: `SKEIN_SESSION_ID=${session}` });
  const isStill = async () => {
    for (let count = 0; count < 4_000; count += 1) {
      const pids = members();
      if (pids.length > 0 && pids.every(isStopped)) return true;
      await Bun.sleep(10);
    }
    return false;
  };
  return { gate, stop, bash, members, isStill, printed: () => printed.join(""), session };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let count = 0; count < 4_000 && !isTrue(); count += 1) await Bun.sleep(10);
  expect(isTrue()).toBe(true);
}

const growing = (name: string) => `for n in $(seq 1 100000); do echo $n >> ${name}; [ -e ${name}.end ] && break; sleep 0.01; done`;
const waiting = (name: string) => `echo begun; until [ -e ${name}.end ]; do sleep 0.01; done; echo ended`;
const sizeOf = (name: string): number => statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0;
const end = (name: string) => Bun.write(join(directory, `${name}.end`), "");

const start = (root?: string) => startTestExecutor({ env, cwd: directory, ...(root === undefined ? {} : { root }) });

test("a command stands still with all it has started, and goes on to its end", async () => {
  const executor = start();
  const turn = turnOf(executor);
  const done = turn.bash(`(${growing("a")}) & ${growing("a")}; wait; echo whole`);
  await until(() => sizeOf("a") > 0);
  turn.gate.pause();
  expect(await turn.isStill()).toBe(true);
  const size = sizeOf("a");
  await Bun.sleep(200);
  expect(sizeOf("a")).toBe(size);
  turn.gate.resume();
  await until(() => sizeOf("a") > size);
  await end("a");
  expect((await done).text).toBe("whole");
  await executor.close();
});

test("a time limit stands still too", async () => {
  const executor = start();
  const turn = turnOf(executor);
  const done = turn.bash(waiting("b"), 3);
  await until(() => turn.printed() !== "");
  turn.gate.pause();
  expect(await turn.isStill()).toBe(true);
  await Bun.sleep(3_200);
  await end("b");
  turn.gate.resume();
  expect((await done).text).toBe("begun\nended");
  await executor.close();
});

test("a call that comes while its session stands still starts afterwards", async () => {
  const executor = start();
  const turn = turnOf(executor);
  await turn.bash("true");
  turn.gate.pause();
  const done = turn.bash(`echo ran | tee late`);
  await Bun.sleep(200);
  expect(sizeOf("late")).toBe(0);
  turn.gate.resume();
  expect((await done).text).toBe("ran");
  await executor.close();
});

test("a session stands still alone, whoever else runs here", async () => {
  const executor = start();
  const [still, other] = [turnOf(executor), turnOf(executor)];
  const done = still.bash(waiting("c"));
  await until(() => still.printed() !== "");
  still.gate.pause();
  expect(await still.isStill()).toBe(true);
  expect((await other.bash("sleep 0.2; echo done")).text).toBe("done");
  expect(await still.isStill()).toBe(true);
  await end("c");
  still.gate.resume();
  expect((await done).text).toBe("begun\nended");
  await executor.close();
});

test("what stands still is ended by a stop, with nothing left", async () => {
  const executor = start();
  const turn = turnOf(executor);
  const done = turn.bash("echo begun; setsid sleep 86396 & sleep 86396");
  await until(() => turn.printed() !== "");
  turn.gate.pause();
  expect(await turn.isStill()).toBe(true);
  turn.stop.abort();
  expect((await done).text).toContain("cancelled");
  expect(turn.members()).toEqual([]);
  await executor.close();
});

test("an executor that is closed leaves nothing of what stood still", async () => {
  const executor = start();
  const turn = turnOf(executor);
  const done = turn.bash("echo begun; sleep 86395");
  await until(() => turn.printed() !== "");
  turn.gate.pause();
  expect(await turn.isStill()).toBe(true);
  await executor.close();
  await done;
  expect(turn.members()).toEqual([]);
});

test("where the topmost session stands still, so does what its calls and those below it left in the background", async () => {
  const root = crypto.randomUUID() as string;
  const executor = start(root);
  const [top, below] = [turnOf(executor, root), turnOf(executor)];
  await top.bash(`(${growing("top")}) >/dev/null 2>&1 &`);
  await below.bash(`(${growing("below")}) >/dev/null 2>&1 & (exec env -i setsid bash -c '${growing("bare")}') >/dev/null 2>&1 &`);
  const sizes = () => ["top", "below", "bare"].map(sizeOf);
  await until(() => sizes().every((size) => size > 0));
  top.gate.pause();
  expect(await top.isStill()).toBe(true);
  expect(await below.isStill()).toBe(true);
  const before = sizes();
  await Bun.sleep(200);
  expect(sizes()).toEqual(before);
  top.gate.resume();
  await until(() => sizes().every((size, at) => size > before[at]!));
  await executor.close();
});

test("an executor uses no time of its own while all stands still", async () => {
  const root = crypto.randomUUID() as string;
  const executor = start(root);
  const turn = turnOf(executor, root);
  const pid = Number((await turn.bash("echo $PPID")).text);
  const ticks = () => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /s, "").split(" ");
    return Number(fields[11]) + Number(fields[12]);
  };
  const done = turn.bash("sleep 86394");
  await until(() => turn.members().length > 0);
  turn.gate.pause();
  expect(await turn.isStill()).toBe(true);
  // What it was about to do anyway is done by then.
  await Bun.sleep(500);
  const before = ticks();
  await Bun.sleep(1_000);
  expect(ticks() - before).toBeLessThanOrEqual(1);
  turn.stop.abort();
  await done;
  await executor.close();
});
