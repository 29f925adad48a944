import { expect, test } from "bun:test";
import { cancellable } from "./cancellable.ts";

test("a reader that leaves while it waits gets the end, and the generator cleans up", async () => {
  let isClean = false;
  const items = cancellable(async function* (signal) {
    try {
      yield 1;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    } finally {
      isClean = true;
    }
  })[Symbol.asyncIterator]();
  expect(await items.next()).toEqual({ value: 1, done: false });
  const next = items.next();
  await items.return!();
  expect(await next).toEqual({ value: undefined, done: true });
  expect(isClean).toBe(true);
});

test("each reader gets its own items", async () => {
  const items = cancellable(async function* () {
    yield* [1, 2, 3];
  });
  for await (const item of items) if (item === 2) break;
  expect(await Array.fromAsync(items)).toEqual([1, 2, 3]);
});
