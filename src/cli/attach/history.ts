// What is stored of a session, as far as it is to be shown, and where what comes after it begins.
import type { Api } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";

export type StoredHistory = {
  events: Event[];
  /** How many earlier ones were left out. */
  left: number;
  /** Whoever goes on watching has seen everything up to here. */
  seq: number;
};

/** The last events, with at most so many parts of nodes in them; null is all of them. */
export async function readHistory(api: Api, session: string, limit: number | null): Promise<StoredHistory> {
  const events: Event[] = [];
  for await (const event of api.turn.watch({ session, afterSeq: 0, until: "now" })) events.push(event);
  const from = limit === null ? 0 : firstShown(events, limit);
  return { events: events.slice(from), left: from, seq: events.at(-1)?.seq ?? 0 };
}

/** The latest one is always shown, however many parts it has. */
export function firstShown(events: readonly Event[], limit: number): number {
  let parts = 0;
  let at = events.length;
  for (; at > 0; at--) {
    parts += sizeOf(events[at - 1] as Event);
    if (parts > limit && at < events.length) break;
  }
  return at;
}

function sizeOf(event: Event): number {
  return event.type === "node.added" ? Math.max(1, event.node.parts.length) : 1;
}
