import { expect, test } from "bun:test";
import { createFeed } from "./feed.ts";

async function collect<T>(feed: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of feed) items.push(item);
  return items;
}

test("items of parallel producers are read in the order of their push", async () => {
  const feed = createFeed<string>();
  const producer = async (name: string) => {
    for (let count = 0; count < 3; count += 1) {
      await Promise.resolve();
      feed.push(`${name}${count}`);
    }
  };
  void Promise.all([producer("a"), producer("b")]).then(feed.end);
  expect(await collect(feed)).toEqual(["a0", "b0", "a1", "b1", "a2", "b2"]);
});

test("items pushed before the end are read after it", async () => {
  const feed = createFeed<number>();
  feed.push(1);
  feed.push(2);
  feed.end();
  feed.push(3);
  expect(await collect(feed)).toEqual([1, 2]);
});

test("a failure reaches the reader after the items before it", async () => {
  const feed = createFeed<number>();
  feed.push(1);
  feed.fail(new Error("broken"));
  const items: number[] = [];
  const reading = (async () => {
    for await (const item of feed) items.push(item);
  })();
  expect(reading).rejects.toThrow("broken");
  await reading.catch(() => undefined);
  expect(items).toEqual([1]);
});

test("a reader that leaves stops the feed from growing", async () => {
  const feed = createFeed<number>();
  feed.push(1);
  for await (const item of feed) {
    expect(item).toBe(1);
    break;
  }
  feed.push(2);
  expect(await collect(feed)).toEqual([]);
});
