// Pauses real processes.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { freeze, thaw } from "./freeze.ts";
import { descendantsOf, isStopped, killAll, processStartTime } from "./processes.ts";

const ticksOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /s, "").split(" ");
  return Number(fields[11]) + Number(fields[12]);
};

const byNumber = (a: number, b: number): number => a - b;

async function family(script: string) {
  const child = Bun.spawn(["bash", "-c", `${script}\necho ready; while :; do :; done`], {
    stdout: "pipe",
    stderr: "ignore",
    detached: true,
  });
  await child.stdout.getReader().read();
  const all = () => [...descendantsOf(child.pid), ...(processStartTime(child.pid) === null ? [] : [child.pid])];
  return { child, all, [Symbol.dispose]: () => killAll(all) };
}

test("a busy process family is paused completely, and continues after it is resumed", async () => {
  using busy = await family("(while :; do :; done) & setsid bash -c 'while :; do :; done' &");
  const { pids: frozen, isComplete } = freeze(busy.all);
  expect(isComplete).toBe(true);
  expect(frozen.toSorted(byNumber)).toEqual(busy.all().toSorted(byNumber));
  expect(frozen.length).toBe(3);
  const used = () => frozen.map(ticksOf);
  // No process may still be on its way to stop.
  expect(frozen.every(isStopped)).toBe(true);
  const before = used();
  await Bun.sleep(300);
  expect(used()).toEqual(before);
  thaw(frozen);
  while (used().every((ticks, index) => ticks === before[index])) await Bun.sleep(10);
});

test("a family that forks all the time is paused completely", async () => {
  using forking = await family("(while :; do (exec sleep 0.01); done) & (while :; do (exec sleep 0.01) & wait; done) &");
  const { pids: frozen, isComplete } = freeze(forking.all);
  expect(isComplete).toBe(true);
  const members = () => forking.all().toSorted(byNumber);
  const stopped = members();
  expect(stopped.filter((pid) => processStartTime(pid) !== null).every(isStopped)).toBe(true);
  await Bun.sleep(100);
  expect(members()).toEqual(stopped);
  thaw(frozen);
  while (members().join() === stopped.join()) await Bun.sleep(5);
});

test("a process that was already stopped stays stopped after a freeze and a thaw", async () => {
  using parentAndChild = await family("(while :; do sleep 0.01; done) &");
  const [stoppedChild] = parentAndChild.all() as [number, number];
  process.kill(stoppedChild, "SIGSTOP");
  while (!isStopped(stoppedChild)) await Bun.sleep(1);
  thaw(freeze(parentAndChild.all).pids);
  expect(isStopped(stoppedChild)).toBe(true);
  expect(isStopped(parentAndChild.child.pid)).toBe(false);
});

test("a process that has ended is skipped", () => {
  expect(freeze(() => [2 ** 22 - 1])).toEqual({ pids: [], isComplete: true });
  thaw([2 ** 22 - 1]);
});
