import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processStartTime } from "../../kit/process/processes.ts";
import type { Fault } from "../../protocol/api/error.ts";
import { withCreationLock } from "./creation-lock.ts";

const path = "/project/.skein/worktrees/feat";

/** A state directory with a lock of this content, and a clock whose timers pass ten seconds at once. */
function prepare(content: string | null) {
  const state = mkdtempSync(join(tmpdir(), "skein-lock-"));
  const directory = join(state, "worktree-locks");
  mkdirSync(directory);
  if (content !== null) writeFileSync(join(directory, `${Bun.hash(path).toString(36)}.lock`), content);
  let now = 0;
  const clock = {
    now: () => now,
    setTimer: (_: number, act: () => void) => {
      now += 10_000;
      queueMicrotask(act);
      return () => {};
    },
  };
  const messages: string[] = [];
  return { options: { state, clock, onWait: (message: string) => messages.push(message) }, messages, directory };
}

test("works that need one lock run one after the other, and leave no file", async () => {
  const { options, directory } = prepare(null);
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} begins`);
    await Bun.sleep(1);
    order.push(`${name} ends`);
  };
  const { clock: _, ...withRealClock } = options;
  await Promise.all(["a", "b"].map((name) => withCreationLock(path, withRealClock, work(name))));
  expect(order).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  expect(readdirSync(directory)).toEqual([]);
});

test.each(["", "x".repeat(500), "1 0", "-1 2 3", "999999999 1"])(
  "a lock that names no running process does not count: %p",
  async (content) => {
    const { options, messages } = prepare(content);
    expect(await withCreationLock(path, options, async () => "done")).toBe("done");
    expect(messages).toEqual([]);
  },
);

test("a lock of a running process is reported once, and after two minutes the process is named", async () => {
  const { options, messages } = prepare(`${process.ppid} ${processStartTime(process.ppid)}`);
  const failure = await withCreationLock(path, options, async () => "done").catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "session-busy", message: expect.stringContaining(`process ${process.ppid}`) });
  expect((failure as Fault).hint).toContain("remove");
  expect(messages).toEqual([expect.stringContaining(path)]);
});
