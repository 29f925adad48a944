import { expect, test } from "bun:test";
import { createLossyQueue } from "./lossy-queue.ts";

test("items are delivered in order, at once or when they arrive", async () => {
  const queue = createLossyQueue<number>();
  queue.push(1, "required");
  queue.push(2, "lossy");
  expect(await queue.next()).toEqual({ items: [1, 2], lags: false });
  const waiting = queue.next();
  queue.push(3, "lossy");
  expect(await waiting).toEqual({ items: [3], lags: false });
});

test("waiting for an arrival takes no item", async () => {
  const queue = createLossyQueue<number>();
  const waiting = queue.arrived();
  queue.push(1, "required");
  await waiting;
  expect(await queue.next()).toEqual({ items: [1], lags: false });
  queue.end();
  await queue.arrived();
});

test("a slow reader loses lossy items first", async () => {
  const queue = createLossyQueue<string>({ lossy: 2, required: 4 });
  for (const item of ["a", "b", "c"]) queue.push(item, "lossy");
  queue.push("d", "required");
  expect(await queue.next()).toEqual({ items: ["a", "b", "d"], lags: false });
});

test("a reader that exceeds the limit of required items lags once, and is served again afterwards", async () => {
  const queue = createLossyQueue<number>({ lossy: 2, required: 4 });
  for (let item = 0; item < 100; item++) queue.push(item, "required");
  expect(await queue.next()).toEqual({ items: [], lags: true });
  queue.push(7, "required");
  expect(await queue.next()).toEqual({ items: [7], lags: false });
});

test("the end comes after the items before it, and items after it are dropped", async () => {
  const queue = createLossyQueue<number>();
  queue.push(1, "required");
  queue.end();
  queue.push(2, "required");
  expect(await queue.next()).toEqual({ items: [1], lags: false });
  expect(await queue.next()).toEqual({ items: [], lags: false });
});

test("items that arrive within everyMs are delivered together", async () => {
  const queue = createLossyQueue<number>({ lossy: 10, required: 10, everyMs: 30 });
  queue.push(1, "required");
  expect((await queue.next()).items).toEqual([1]);
  queue.push(2, "required");
  const next = queue.next();
  await Promise.resolve();
  queue.push(3, "required");
  expect((await next).items).toEqual([2, 3]);
});
