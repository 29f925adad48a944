// A stream's increments in fewer pieces: text that follows text is one event, handed on at most every so often.
// What is lasting is handed on at once, after all that came before it.
import type { Event } from "../protocol/event.ts";

const usualMs = 50;

export type Coalescer = { push: (event: Event) => void; flush: () => void };

export function coalesce(hand: (events: Event[]) => void, flushAfterMs = usualMs): Coalescer {
  let held: Event[] = [];
  let timer: Timer | null = null;
  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
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
      else timer ??= setTimeout(flush, flushAfterMs);
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
