import { expect, test } from "bun:test";
import { createSpinnerClock } from "./spinner-clock.ts";

test("a frame moves the spinner unless it has just moved, and the clock moves it without frames", async () => {
  let ticks = 0;
  const clock = createSpinnerClock(() => (ticks += 1));
  const first = clock.move()!;
  const second = clock.move();
  expect(first).toBeLessThanOrEqual(Date.now());
  if (second !== null) expect(second - first).toBeGreaterThanOrEqual(125);
  while (ticks === 0) await Bun.sleep(5);
  clock.close();
});
