// Joins the deltas of a stream into fewer events. The first is passed on at once, later ones every `everyMs`.
// A durable event is passed on at once, after all earlier ones.
import type { Event } from "../../protocol/tree/event.ts";

/** Every new row repaints a screen that follows the end, so a shorter interval costs bytes and looks no smoother. */
const defaultMs = 100;

export function coalesce(onEvent: (event: Event) => void, everyMs = defaultMs) {
  let pending: Event[] = [];
  let timer: Timer | null = null;
  let flushedAt = Number.NEGATIVE_INFINITY;
  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    flushedAt = performance.now();
    const events = pending;
    pending = [];
    events.forEach(onEvent);
  }
  function push(event: Event): void {
    const joined = joinEvents(pending.at(-1), event);
    if (joined === null) pending.push(event);
    else pending[pending.length - 1] = joined;
    if (!("n" in event)) flush();
    else timer ??= setTimeout(flush, Math.max(0, flushedAt + everyMs - performance.now()));
  }
  return { push, flush };
}

/** One event with the text of both. Null if they belong to different streams. */
function joinEvents(previous: Event | undefined, event: Event): Event | null {
  const isDelta = event.type === "text.delta" || event.type === "thinking.delta" || event.type === "tool.output";
  if (!isDelta || previous?.type !== event.type || previous.sessionId !== event.sessionId) return null;
  if (event.type === "tool.output" && previous.type === "tool.output" && previous.call !== event.call) return null;
  return { ...event, text: previous.text + event.text };
}
