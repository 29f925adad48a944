// The feed of a turn that was started here. The turn does not wait for its reader: for a slow reader transient events
// are dropped, and durable ones are queued.
import { createLossyQueue } from "../kit/flow/lossy-queue.ts";
import type { Event } from "../protocol/tree/event.ts";

const bounds = { lossy: 1000, required: Infinity };

export function withoutBackpressure(events: AsyncIterable<Event>): AsyncIterable<Event> {
  const source = events[Symbol.asyncIterator]();
  const queue = createLossyQueue<Event>(bounds);
  const failure: { error?: unknown } = {};

  const drain = async (): Promise<void> => {
    try {
      for (let next = await source.next(); !next.done; next = await source.next()) {
        queue.push(next.value, "n" in next.value ? "lossy" : "required");
      }
    } catch (error) {
      failure.error = error;
    }
    queue.end();
  };

  async function* read(): AsyncGenerator<Event> {
    for (;;) {
      const { items } = await queue.next();
      yield* items;
      if (items.length > 0) continue;
      if ("error" in failure) throw failure.error;
      return;
    }
  }

  void drain();
  return {
    [Symbol.asyncIterator]() {
      const reading = read();
      return {
        next: () => reading.next(),
        async return() {
          queue.end();
          await source.return?.();
          return { value: undefined, done: true };
        },
      };
    },
  };
}
