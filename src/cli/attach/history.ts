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
  const events = await Array.fromAsync(api.turn.watch({ session, afterSeq: 0, until: "now" }));
  // The latest event is always shown, however many parts it has.
  let omitted = Math.max(0, events.length - 1);
  let parts = partCount(events.at(-1));
  while (omitted > 0 && (limit === null || parts + partCount(events[omitted - 1]) <= limit)) {
    omitted -= 1;
    parts += partCount(events[omitted]);
  }
  return { events: events.slice(omitted), omitted, seq: events.at(-1)?.seq ?? 0 };
}

function partCount(event: Event | undefined): number {
  return event?.type === "node.added" ? Math.max(1, event.node.parts.length) : 1;
}
