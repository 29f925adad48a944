import { expect, test } from "bun:test";
import { createLossyQueue } from "./lossy-queue.ts";

test("what was pushed comes in order, at once or when it is waited for", async () => {
  const tail = createLossyQueue<number>();
  tail.push(1, "kept");
  tail.push(2, "lossy");
  expect(await tail.next()).toEqual({ items: [1, 2], lags: false });
  const waiting = tail.next();
  tail.push(3, "lossy");
  expect(await waiting).toEqual({ items: [3], lags: false });
});

test("whoever only waits for something takes nothing", async () => {
  const tail = createLossyQueue<number>();
  const waiting = tail.arrived();
  tail.push(1, "kept");
  await waiting;
  expect(await tail.next()).toEqual({ items: [1], lags: false });
  tail.end();
  await tail.arrived();
});

test("a slow reader loses what may be lost first", async () => {
  const tail = createLossyQueue<string>({ lossy: 2, kept: 4 });
  for (const item of ["a", "b", "c"]) tail.push(item, "lossy");
  tail.push("d", "kept");
  expect(await tail.next()).toEqual({ items: ["a", "b", "d"], lags: false });
});

test("a reader that is slower still is told to look for itself, and is served again afterwards", async () => {
  const tail = createLossyQueue<number>({ lossy: 2, kept: 4 });
  for (let item = 0; item < 100; item++) tail.push(item, "kept");
  expect(await tail.next()).toEqual({ items: [], lags: true });
  tail.push(7, "kept");
  expect(await tail.next()).toEqual({ items: [7], lags: false });
});

test("an end comes after what was pushed before it, and nothing after it", async () => {
  const tail = createLossyQueue<number>();
  tail.push(1, "kept");
  tail.end();
  tail.push(2, "kept");
  expect(await tail.next()).toEqual({ items: [1], lags: false });
  expect(await tail.next()).toEqual({ items: [], lags: false });
});

test("what comes quickly after something was taken is given in one piece", async () => {
  const tail = createLossyQueue<number>({ lossy: 10, kept: 10, everyMs: 30 });
  tail.push(1, "kept");
  expect((await tail.next()).items).toEqual([1]);
  tail.push(2, "kept");
  const next = tail.next();
  await Promise.resolve();
  tail.push(3, "kept");
  expect((await next).items).toEqual([2, 3]);
});
