// Leaving an iterable that has nothing to say.
import { expect, test } from "bun:test";
import { cancellable } from "./cancellable.ts";

test("whoever waits for the next item is let go, and what was begun is cleaned up", async () => {
  let isClean = false;
  const items = cancellable(async function* (left) {
    try {
      yield 1;
      await new Promise((resolve) => left.addEventListener("abort", resolve));
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

test("each reader has its own", async () => {
  const items = cancellable(async function* () {
    yield* [1, 2, 3];
  });
  for await (const item of items) if (item === 2) break;
  expect(await Array.fromAsync(items)).toEqual([1, 2, 3]);
});
