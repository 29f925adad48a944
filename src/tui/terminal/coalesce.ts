// Joins the deltas of a stream into fewer events. The first is passed on at once, later ones every `everyMs`.
// A durable event is passed on at once, after all earlier ones.
import type { Event } from "../../protocol/tree/event.ts";

/** Every new row repaints a screen that follows the end, so a shorter interval costs bytes and looks no smoother. */
const defaultMs = 100;

export type Coalescer = { push: (event: Event) => void; flush: () => void };

export function coalesce(onEvents: (events: Event[]) => void, everyMs = defaultMs): Coalescer {
  let pending: Event[] = [];
  let timer: Timer | null = null;
  let flushedAt = Number.NEGATIVE_INFINITY;
  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    flushedAt = performance.now();
    const events = pending;
    pending = [];
    if (events.length > 0) onEvents(events);
  }
  return {
    push(event) {
      const joined = joinEvents(pending.at(-1), event);
      if (joined === null) pending.push(event);
      else pending[pending.length - 1] = joined;
      if (!("n" in event)) flush();
      else timer ??= setTimeout(flush, Math.max(0, flushedAt + everyMs - performance.now()));
    },
    flush,
  };
}

function joinEvents(last: Event | undefined, event: Event): Event | null {
  if (last === undefined || last.sessionId !== event.sessionId) return null;
  if (event.type === "text.delta" && last.type === "text.delta") return { ...event, text: last.text + event.text };
  if (event.type === "thinking.delta" && last.type === "thinking.delta") return { ...event, text: last.text + event.text };
  if (event.type === "tool.output" && last.type === "tool.output" && last.call === event.call)
    return { ...event, text: last.text + event.text };
  return null;
}
