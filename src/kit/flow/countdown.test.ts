import { expect, test } from "bun:test";
import { countdown } from "./countdown.ts";

test("time that is stopped does not pass, and the rest of it passes afterwards", async () => {
  let isOver = false;
  const limit = countdown(100, () => (isOver = true));
  limit.pause();
  limit.pause();
  await Bun.sleep(200);
  expect(isOver).toBe(false);
  const goneAt = performance.now();
  limit.resume();
  limit.resume();
  while (!isOver) await Bun.sleep(5);
  expect(performance.now() - goneAt).toBeGreaterThan(20);
});

test("what is cleared, or has no limit, never ends", async () => {
  const ended: string[] = [];
  const cleared = countdown(5, () => ended.push("cleared"));
  const endless = countdown(null, () => ended.push("endless"));
  const longest = countdown(2 ** 40, () => ended.push("longest"));
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
