import { expect, test } from "bun:test";
import { createSlots } from "./slots.ts";

const never = new AbortController().signal;

test("no more tasks than slots run at once, and the other tasks follow in order", async () => {
  const slots = createSlots(2);
  const order: number[] = [];
  let running = 0;
  let maxRunning = 0;
  await Promise.all(
    [0, 1, 2, 3, 4].map(async (number) => {
      const release = await slots.take(never);
      order.push(number);
      maxRunning = Math.max(maxRunning, ++running);
      await Promise.resolve();
      running -= 1;
      release();
      release();
    }),
  );
  expect(order).toEqual([0, 1, 2, 3, 4]);
  expect(maxRunning).toBe(2);
});

test("a waiter that aborts leaves the queue, and its slot is not lost", async () => {
  const slots = createSlots(1);
  const release = await slots.take(never);
  const leaving = new AbortController();
  const aborted = slots.take(leaving.signal).catch((reason: unknown) => reason);
  const next = slots.take(never);
  leaving.abort("gone");
  expect(await aborted).toBe("gone");
  release();
  (await next)();
  (await slots.take(never))();
});

test("a waiter that needs many slots waits until they are free, and no later waiter overtakes it", async () => {
  const slots = createSlots(10);
  const { signal } = new AbortController();
  const order: string[] = [];
  const first = await slots.take(signal, 6);
  const big = slots.take(signal, 99).then((release) => (order.push("big"), release));
  const small = slots.take(signal, 1).then((release) => (order.push("small"), release));
  await Bun.sleep(0);
  expect(order).toEqual([]);
  first();
  (await big)();
  await small;
  expect(order).toEqual(["big", "small"]);
});
