// Paused calls: none of their processes runs, and none of their time limits.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PauseGate } from "../kit/flow/pause-gate.ts";
import { familyMembers, isStopped } from "../kit/process/processes.ts";
import type { Executor, ToolCallOptions } from "../protocol/api/ports.ts";
import { startTestExecutor } from "./fixtures/test-executor.ts";

const directory = mkdtempSync(join(tmpdir(), "suspension-"));
const env = { PATH: process.env.PATH, HOME: directory };
afterAll(() => rmSync(directory, { recursive: true }));

/** A turn of a session: its pause gate, and a function that runs commands in it. */
function turnOf(executor: Executor, session = crypto.randomUUID() as string) {
  const gate = new PauseGate();
  const pausable: ToolCallOptions["pausable"] = (pausable) => gate.add(pausable);
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
        onOutput: (chunk) => void printed.push(Buffer.from(chunk).toString()),
      },
    );
  const members = () => familyMembers({ root: null, envTag: `SKEIN_SESSION_ID=${session}` });
  const isFrozen = async () => {
    for (let count = 0; count < 4_000; count += 1) {
      const pids = members();
      if (pids.length > 0 && pids.every(isStopped)) return true;
      await Bun.sleep(10);
    }
    return false;
  };
  return { gate, stop, bash, members, isFrozen, printed: () => printed.join(""), session };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let count = 0; count < 4_000 && !isTrue(); count += 1) await Bun.sleep(10);
  expect(isTrue()).toBe(true);
}

const growFile = (name: string) => `for n in $(seq 1 100000); do echo $n >> ${name}; [ -e ${name}.end ] && break; sleep 0.01; done`;
const waitForFile = (name: string) => `echo started; until [ -e ${name}.end ]; do sleep 0.01; done; echo ended`;
const sizeOf = (name: string): number => statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0;
const end = (name: string) => Bun.write(join(directory, `${name}.end`), "");

const start = (root?: string) => startTestExecutor({ env, cwd: directory, ...(root === undefined ? {} : { root }) });

test("a paused command stops with all its processes, and completes after it is resumed", async () => {
  const executor = start();
  const turn = turnOf(executor);
  const done = turn.bash(`(${growFile("a")}) & ${growFile("a")}; wait; echo complete`);
  await until(() => sizeOf("a") > 0);
  turn.gate.pause();
  expect(await turn.isFrozen()).toBe(true);
  const size = sizeOf("a");
  await Bun.sleep(200);
  expect(sizeOf("a")).toBe(size);
  turn.gate.resume();
  await until(() => sizeOf("a") > size);
  await end("a");
  expect((await done).text).toBe("complete");
  await executor.close();
});

test("a time limit does not run while the session is paused", async () => {
  const executor = start();
  const turn = turnOf(executor);
  const done = turn.bash(waitForFile("b"), 3);
  await until(() => turn.printed() !== "");
  turn.gate.pause();
  expect(await turn.isFrozen()).toBe(true);
  await Bun.sleep(3_200);
  await end("b");
  turn.gate.resume();
  expect((await done).text).toBe("started\nended");
  await executor.close();
});

test("a call to a paused session starts after it is resumed", async () => {
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

test("pausing one session does not pause the others", async () => {
  const executor = start();
  const [paused, other] = [turnOf(executor), turnOf(executor)];
  const done = paused.bash(waitForFile("c"));
  await until(() => paused.printed() !== "");
  paused.gate.pause();
  expect(await paused.isFrozen()).toBe(true);
  expect((await other.bash("sleep 0.2; echo done")).text).toBe("done");
  expect(await paused.isFrozen()).toBe(true);
  await end("c");
  paused.gate.resume();
  expect((await done).text).toBe("started\nended");
  await executor.close();
});

test("a cancelled call of a paused session ends with all its processes", async () => {
  const executor = start();
  const turn = turnOf(executor);
  const done = turn.bash("echo started; setsid sleep 86396 & sleep 86396");
  await until(() => turn.printed() !== "");
  turn.gate.pause();
  expect(await turn.isFrozen()).toBe(true);
  turn.stop.abort();
  expect((await done).text).toContain("cancelled");
  expect(turn.members()).toEqual([]);
  await executor.close();
});

test("closing the executor ends the processes of a paused session", async () => {
  const executor = start();
  const turn = turnOf(executor);
  const done = turn.bash("echo started; sleep 86395");
  await until(() => turn.printed() !== "");
  turn.gate.pause();
  expect(await turn.isFrozen()).toBe(true);
  await executor.close();
  await done;
  expect(turn.members()).toEqual([]);
});

test("pausing the topmost session also pauses background processes of its sub-sessions", async () => {
  const root = crypto.randomUUID() as string;
  const executor = start(root);
  const [top, sub] = [turnOf(executor, root), turnOf(executor)];
  await top.bash(`(${growFile("top")}) >/dev/null 2>&1 &`);
  await sub.bash(`(${growFile("sub")}) >/dev/null 2>&1 & (exec env -i setsid bash -c '${growFile("bare")}') >/dev/null 2>&1 &`);
  const sizes = () => ["top", "sub", "bare"].map(sizeOf);
  await until(() => sizes().every((size) => size > 0));
  top.gate.pause();
  expect(await top.isFrozen()).toBe(true);
  expect(await sub.isFrozen()).toBe(true);
  const before = sizes();
  await Bun.sleep(200);
  expect(sizes()).toEqual(before);
  top.gate.resume();
  await until(() => sizes().every((size, index) => size > before[index]!));
  await executor.close();
});

test("the executor uses no CPU time while all sessions are paused", async () => {
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
  expect(await turn.isFrozen()).toBe(true);
  // Work that had already started, such as a garbage collection, ends first. Work that repeats leaves no second idle.
  const usedInSecond = async (): Promise<number> => {
    const before = ticks();
    await Bun.sleep(1_000);
    return ticks() - before;
  };
  let used = await usedInSecond();
  for (let second = 1; second < 10 && used > 1; second += 1) used = await usedInSecond();
  expect(used).toBeLessThanOrEqual(1);
  turn.stop.abort();
  await done;
  await executor.close();
});
