// The feed of a turn that was started here. The turn does not wait for its reader: while that one is behind, what may
// be lost is dropped, and what lasts is kept.
import { createLossyQueue } from "../kit/flow/lossy-queue.ts";
import type { Event } from "../protocol/tree/event.ts";

const bounds = { lossy: 1000, required: Infinity };

export function withoutBackpressure(events: AsyncIterable<Event>): AsyncIterable<Event> {
  const source = events[Symbol.asyncIterator]();
  const tail = createLossyQueue<Event>(bounds);
  const failure: { error?: unknown } = {};

  const drain = async (): Promise<void> => {
    try {
      for (let next = await source.next(); !next.done; next = await source.next()) {
        tail.push(next.value, "n" in next.value ? "lossy" : "required");
      }
    } catch (error) {
      failure.error = error;
    }
    tail.end();
  };

  async function* read(): AsyncGenerator<Event> {
    for (;;) {
      const { items } = await tail.next();
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
          tail.end();
          await source.return?.();
          return { value: undefined, done: true };
        },
      };
    },
  };
}
