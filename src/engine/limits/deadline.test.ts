import { expect, test } from "bun:test";
import { createTestClock } from "../../kit/flow/fixtures/test-clock.ts";
import { createDeadline } from "./deadline.ts";

test("a limit of 40 days, which is too long for a timer, does not end the turn at once", async () => {
  const deadline = createDeadline({ timeoutMs: 40 * 86_400_000, idleMs: 40 * 86_400_000 }, null);
  await Bun.sleep(20);
  expect(deadline.reason()).toBeNull();
  deadline.clear();
});

test("a turn without activity is stalled, and a held idle limit does not count time", async () => {
  const clock = createTestClock();
  const deadline = createDeadline({ timeoutMs: null, idleMs: 1_000 }, null, clock);
  const release = deadline.holdIdle();
  await clock.advance(5_000);
  release();
  await clock.advance(900);
  deadline.touch();
  await clock.advance(900);
  expect(deadline.reason()).toBeNull();
  await clock.advance(200);
  expect(deadline.reason()).toMatchObject({ kind: "stalled" });
  deadline.clear();
});

test("a paused turn does not time out", async () => {
  const clock = createTestClock();
  const deadline = createDeadline({ timeoutMs: 1_000, idleMs: 500 }, null, clock);
  deadline.pause();
  await clock.advance(5_000);
  deadline.resume();
  deadline.touch();
  expect(deadline.reason()).toBeNull();
  await clock.advance(400);
  deadline.touch();
  await clock.advance(400);
  deadline.touch();
  await clock.advance(400);
  expect(deadline.reason()).toMatchObject({ kind: "timed-out" });
  deadline.clear();
});
