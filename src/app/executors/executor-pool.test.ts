// The pool decides which executors stay open, and in which order they start and close. Journeys test real executors.
import { expect, test } from "bun:test";
import type { Executor } from "../../protocol/api/ports.ts";
import { createExecutorPool } from "./executor-pool.ts";

function createFakeExecutors() {
  const log: string[] = [];
  const closing = Promise.withResolvers<void>();
  const make = (name: string) => (): Executor => {
    log.push(`start ${name}`);
    const close = async () => {
      log.push(`close ${name}`);
      await closing.promise;
      log.push(`gone ${name}`);
    };
    const openProgram = async () => ({ write: () => {}, ended: Promise.resolve({ text: name, isError: false }) });
    return { callTool: async () => ({ text: name, isError: false }), openProgram, close };
  };
  return { log, make, finish: closing.resolve };
}

const call = (executor: Executor) => executor.callTool("bash", {}, {} as Parameters<Executor["callTool"]>[2]);

test("only the latest idle executors stay open, and all executors of running turns do", async () => {
  const { log, make, finish } = createFakeExecutors();
  const pool = createExecutorPool((root) => root === "busy");
  pool.get("b", "busy", make("b"));
  for (let index = 0; index < 8; index += 1) pool.get(`${index}`, `s${index}`, make(`${index}`));
  pool.get("0", "s0", make("never"));
  expect(log.filter((line) => !line.startsWith("start"))).toEqual([]);
  pool.get("8", "s8", make("8"));
  pool.get("9", "s9", make("9"));
  expect(log.filter((line) => !line.startsWith("start"))).toEqual(["close 1", "close 2"]);
  expect(log).not.toContain("start never");
  finish();
  await pool.close();
  expect(log.filter((line) => line.startsWith("gone"))).toHaveLength(11);
});

test("an executor that is requested while it closes starts after the close", async () => {
  const { log, make, finish } = createFakeExecutors();
  const pool = createExecutorPool(() => false);
  for (let index = 0; index < 9; index += 1) pool.get(`${index}`, `s${index}`, make(`${index}`));
  expect(log).toContain("close 0");
  const again = pool.get("0", "s0", make("0 again"));
  const called = call(again);
  await Bun.sleep(5);
  expect(log).not.toContain("start 0 again");
  finish();
  expect(await called).toMatchObject({ text: "0 again" });
  expect(log.indexOf("gone 0")).toBeLessThan(log.indexOf("start 0 again"));
  await pool.close();
  expect(log).toContain("gone 0 again");
});
