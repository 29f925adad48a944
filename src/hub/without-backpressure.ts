// The feed of a turn that was started here. The turn does not wait for its reader: for a slow reader transient events
// are dropped, and durable ones are queued.
import { cancellable } from "../kit/flow/cancellable.ts";
import { createLossyQueue, type LossyQueue } from "../kit/flow/lossy-queue.ts";
import type { Event } from "../protocol/tree/event.ts";

const bounds = { lossy: 1000, required: Infinity };

export function withoutBackpressure(events: AsyncIterable<Event>): AsyncIterable<Event> {
  const source = events[Symbol.asyncIterator]();
  const queue = createLossyQueue<Event>(bounds);
  const drained = drain(source, queue);
  drained.catch(() => {}); // The reader gets the error after the earlier events.
  return cancellable(async function* (signal) {
    signal.addEventListener("abort", () => {
      queue.end();
      // The turn continues without its reader. Cleaning up may take time or fail.
      void Promise.resolve(source.return?.()).catch(() => {});
    });
    for (let next = await queue.next(); next.items.length > 0; next = await queue.next()) yield* next.items;
    if (!signal.aborted) await drained;
  });
}

async function drain(source: AsyncIterator<Event>, queue: LossyQueue<Event>): Promise<void> {
  try {
    for (let next = await source.next(); !next.done; next = await source.next()) {
      queue.push(next.value, "n" in next.value ? "lossy" : "required");
    }
  } finally {
    queue.end();
  }
}
