// A stream's increments in fewer pieces: the first is handed on at once, text that follows text then becomes one event,
// at most every so often. What is lasting is handed on at once, after all that came before it.
import type { Event } from "../../protocol/tree/event.ts";

/** A screen that follows a stream is written anew with every row that is added: more often would be bytes, not smoothness. */
const usualMs = 100;

export type Coalescer = { push: (event: Event) => void; flush: () => void };

export function coalesce(hand: (events: Event[]) => void, everyMs = usualMs): Coalescer {
  let held: Event[] = [];
  let timer: Timer | null = null;
  let flushedAt = Number.NEGATIVE_INFINITY;
  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    flushedAt = performance.now();
    const events = held;
    held = [];
    if (events.length > 0) hand(events);
  }
  return {
    push(event) {
      const joined = joinedWith(held.at(-1), event);
      if (joined === null) held.push(event);
      else held[held.length - 1] = joined;
      if (!("n" in event)) flush();
      else timer ??= setTimeout(flush, Math.max(0, flushedAt + everyMs - performance.now()));
    },
    flush,
  };
}

function joinedWith(last: Event | undefined, event: Event): Event | null {
  if (last === undefined || last.sessionId !== event.sessionId) return null;
  if (event.type === "text.delta" && last.type === "text.delta") return { ...event, text: last.text + event.text };
  if (event.type === "thinking.delta" && last.type === "thinking.delta") return { ...event, text: last.text + event.text };
  if (event.type === "tool.output" && last.type === "tool.output" && last.call === event.call)
    return { ...event, text: last.text + event.text };
  return null;
}
