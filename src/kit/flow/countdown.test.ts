import { expect, test } from "bun:test";
import { startCountdown } from "./countdown.ts";
import { createTestClock } from "./fixtures/test-clock.ts";

test("a paused countdown loses no time, and the remaining time passes after it is resumed", async () => {
  const clock = createTestClock();
  let isOver = false;
  const limit = startCountdown(100, () => (isOver = true), clock);
  await clock.advance(40);
  limit.pause();
  limit.pause();
  await clock.advance(1_000);
  limit.resume();
  limit.resume();
  await clock.advance(59);
  expect(isOver).toBe(false);
  await clock.advance(1);
  expect(isOver).toBe(true);
});

test("a countdown on the system clock ends", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  startCountdown(1, resolve);
  await promise;
});

test("a countdown that is cleared, has no limit or is too long for a timer never ends", async () => {
  const ended: string[] = [];
  const cleared = startCountdown(5, () => ended.push("cleared"));
  const endless = startCountdown(null, () => ended.push("endless"));
  const longest = startCountdown(2 ** 40, () => ended.push("longest"));
  cleared.clear();
  cleared.resume();
  await Bun.sleep(30);
  for (const limit of [endless, longest]) {
    limit.pause();
    limit.resume();
    limit.clear();
  }
  expect(ended).toEqual([]);
});
