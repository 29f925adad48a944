import { expect, test } from "bun:test";
import { lazy, once } from "./lazy.ts";

test("a lazy object is loaded at its first call, and only once", async () => {
  let loads = 0;
  const counter = lazy(async () => {
    loads += 1;
    return { add: async (a: number, b: number) => a + b };
  });
  expect(await counter).toBe(counter);
  expect(loads).toBe(0);
  expect(await Promise.all([counter.add(1, 2), counter.add(3, 4)])).toEqual([3, 7]);
  expect(loads).toBe(1);
});

test("a failed load rejects every call", async () => {
  const broken = lazy<{ run: () => Promise<void> }>(() => Promise.reject(new Error("no such module")));
  await expect(broken.run()).rejects.toThrow("no such module");
  await expect(broken.run()).rejects.toThrow("no such module");
});

test("calls during one load continue in their order", async () => {
  const resolvers: (() => void)[] = [];
  const load = once(() => new Promise<void>((resolve) => resolvers.push(resolve)));
  const order: number[] = [];
  const calls = [1, 2, 3].map(async (number) => {
    await load();
    order.push(number);
  });
  for (const resolve of resolvers.toReversed()) resolve();
  await Promise.all(calls);
  expect(order).toEqual([1, 2, 3]);
});
