// Reads the last stored events of a session, and the position from which to watch for new ones.
import type { Api } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";

export type StoredHistory = {
  events: Event[];
  /** Number of earlier events that were omitted. */
  omitted: number;
  /** The last stored event. Watching after it misses nothing. */
  seq: number;
};

/** Returns the last events, with at most `limit` node parts in total. A null limit returns all events. */
export async function readHistory(api: Api, session: string, limit: number | null): Promise<StoredHistory> {
  const events: Event[] = [];
  for await (const event of api.turn.watch({ session, afterSeq: 0, until: "now" })) events.push(event);
  const first = limit === null ? 0 : firstShown(events, limit);
  return { events: events.slice(first), omitted: first, seq: events.at(-1)?.seq ?? 0 };
}

/** Index of the first event to show. The latest event is always shown, however many parts it has. */
export function firstShown(events: readonly Event[], limit: number): number {
  let parts = 0;
  let index = events.length;
  for (; index > 0; index--) {
    parts += partCount(events[index - 1] as Event);
    if (parts > limit && index < events.length) break;
  }
  return index;
}

function partCount(event: Event): number {
  return event.type === "node.added" ? Math.max(1, event.node.parts.length) : 1;
}
