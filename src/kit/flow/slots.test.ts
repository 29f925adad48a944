import { expect, test } from "bun:test";
import { createSlots } from "./slots.ts";

const never = new AbortController().signal;

test("no more than the bound run at once, and the rest follow in order", async () => {
  const slots = createSlots(2);
  const order: number[] = [];
  let now = 0;
  let most = 0;
  await Promise.all(
    [0, 1, 2, 3, 4].map(async (number) => {
      const giveBack = await slots.take(never);
      order.push(number);
      most = Math.max(most, ++now);
      await Promise.resolve();
      now -= 1;
      giveBack();
      giveBack();
    }),
  );
  expect(order).toEqual([0, 1, 2, 3, 4]);
  expect(most).toBe(2);
});

test("one that waits can leave, and its place is not lost", async () => {
  const slots = createSlots(1);
  const giveBack = await slots.take(never);
  const leaving = new AbortController();
  const left = slots.take(leaving.signal).catch((reason: unknown) => reason);
  const next = slots.take(never);
  leaving.abort("gone");
  expect(await left).toBe("gone");
  giveBack();
  (await next)();
  (await slots.take(never))();
});

test("what weighs more waits until enough is free, and nobody overtakes it", async () => {
  const slots = createSlots(10);
  const { signal } = new AbortController();
  const order: string[] = [];
  const first = await slots.take(signal, 6);
  const big = slots.take(signal, 99).then((back) => (order.push("big"), back));
  const small = slots.take(signal, 1).then((back) => (order.push("small"), back));
  await Bun.sleep(0);
  expect(order).toEqual([]);
  first();
  (await big)();
  await small;
  expect(order).toEqual(["big", "small"]);
});
