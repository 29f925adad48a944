import { expect, test } from "bun:test";
import { IdleCollection } from "./idle-collection.ts";

/** Timers fire when the test moves the time. */
function createClock() {
  let now = 0;
  let timers: { at: number; onDue: () => void }[] = [];
  return {
    now: () => now,
    setTimer(ms: number, onDue: () => void) {
      const timer = { at: now + ms, onDue };
      timers.push(timer);
      return () => void (timers = timers.filter((each) => each !== timer));
    },
    pass(ms: number) {
      now += ms;
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter(({ at }) => at > now);
      for (const { onDue } of due) onDue();
    },
  };
}

test("garbage is collected at the fifth slow answer, and again after five more and two seconds", () => {
  const clock = createClock();
  let collected = 0;
  const collection = new IdleCollection(() => (collected += 1), clock);
  const slowAnswer = () => {
    const end = collection.begin();
    clock.pass(150);
    end();
    return collected;
  };
  expect(Array.from({ length: 5 }, slowAnswer)).toEqual([0, 0, 0, 0, 1]);
  // Ten answers take 1.5 s.
  expect(Array.from({ length: 10 }, slowAnswer).at(-1)).toBe(1);
  clock.pass(1_000);
  expect(slowAnswer()).toBe(2);
});

test("an answer that comes soon is never delayed by a collection", () => {
  const clock = createClock();
  let collected = 0;
  const collection = new IdleCollection(() => (collected += 1), clock);
  for (let request = 0; request < 50; request += 1) {
    const end = collection.begin();
    clock.pass(50);
    end();
    clock.pass(500);
  }
  expect(collected).toBe(0);
});
