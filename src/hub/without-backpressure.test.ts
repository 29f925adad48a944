// A turn and its remote reader do not wait for each other.
import { expect, test } from "bun:test";
import { createFeed } from "../kit/flow/feed.ts";
import type { Event } from "../protocol/tree/event.ts";
import { Fault } from "../protocol/api/error.ts";
import { durableEvent, transientEvent } from "./fixtures/test-server.ts";
import { withoutBackpressure } from "./without-backpressure.ts";

test("a reader that keeps up gets everything", async () => {
  const feed = createFeed<Event>();
  const read = Array.fromAsync(withoutBackpressure(feed));
  const events = [durableEvent(1), transientEvent(1, 1, "a"), transientEvent(1, 2, "b"), durableEvent(2)];
  for (const event of events) feed.push(event);
  feed.end();
  expect(await read).toEqual(events);
});

test("a slow reader loses transient events beyond a thousand, and no durable event", async () => {
  const feed = createFeed<Event>();
  const events = withoutBackpressure(feed);
  for (let seq = 1; seq <= 5000; seq += 1) {
    feed.push(durableEvent(seq));
    for (let n = 1; n <= 10; n += 1) feed.push(transientEvent(seq, n, "x"));
    if (seq % 10 === 0) await Bun.sleep(0);
  }
  feed.end();
  await Bun.sleep(0);
  const read = await Array.fromAsync(events);
  expect(read.filter((event) => !("n" in event)).map(({ seq }) => seq)).toEqual(Array.from({ length: 5000 }, (_, at) => at + 1));
  expect(read.length - 5000).toBeLessThanOrEqual(1000);
});

test("an error arrives after the earlier events; leaving ends the wait", async () => {
  const failing = createFeed<Event>();
  const reader = withoutBackpressure(failing)[Symbol.asyncIterator]();
  failing.push(durableEvent(1));
  failing.fail(new Fault("store-full", "no room"));
  expect(await reader.next()).toEqual({ value: durableEvent(1), done: false });
  await expect(reader.next()).rejects.toMatchObject({ code: "store-full" });

  const silent = createFeed<Event>();
  const leaving = withoutBackpressure(silent)[Symbol.asyncIterator]();
  const next = leaving.next();
  void leaving.return!();
  expect(await next).toEqual({ value: undefined, done: true });
});
