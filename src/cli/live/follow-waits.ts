// Follows a turn over its waits for a vendor's limit. The hub continues such a turn; if the hub is killed, this process starts
// the next one, so that a turn in the foreground does not depend on another command.
import type { Api } from "../../protocol/api/api.ts";
import type { PendingTurn } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";

type FollowedTurn = {
  session: string;
  /** The last durable event that was read. */
  seq: number;
  /** The turn that is followed, and whether it has ended without a continuation. */
  turn: string | null;
  isOver: boolean;
};

/** `connect` returns an Api in the hub, which it starts if need be. It is called only for a turn that waits. */
export async function* followWaits(events: AsyncIterable<Event>, session: string, connect: () => Promise<Api>): AsyncGenerator<Event> {
  const followed: FollowedTurn = { session, seq: 0, turn: null, isOver: true };
  for await (const event of events) {
    advance(followed, event);
    yield event;
  }
  while (!followed.isOver) yield* followInHub(followed, await connect());
}

/** Returns when the turn is over, or when the connection to the hub is lost. */
async function* followInHub(followed: FollowedTurn, api: Api): AsyncGenerator<Event> {
  const { session } = followed;
  try {
    for await (const event of api.turn.watch({ session, afterSeq: followed.seq, until: "idle" })) {
      // The live event says how the turn continues. A stored one does not.
      const next = event.type === "turn.ended" && event.turnId === followed.turn ? (event.next ?? (await findNext(api, event))) : null;
      advance(followed, event, next);
      yield event;
      if (followed.isOver) return;
    }
    followed.isOver = true; // the wait was ended by hand
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "connection-lost") throw error;
  } finally {
    await api.close();
  }
}

/** A pending turn that continues the ended one, or the turn that has done so already. */
async function findNext(api: Api, { sessionId, turn }: Extract<Event, { type: "turn.ended" }>): Promise<Pick<PendingTurn, "id"> | null> {
  const pending = (await api.turn.pending({ session: sessionId })).find(({ kind }) => kind !== "queued");
  if (pending !== undefined || turn.status !== "killed") return pending ?? null;
  const running = (await api.turn.list({ endedSince: turn.startedAt })).find(
    (info) => info.session.id === sessionId && info.turn.startedAt >= (turn.endedAt ?? Infinity),
  );
  return running === undefined ? null : { id: running.turn.id };
}

function advance(followed: FollowedTurn, event: Event, next: Pick<PendingTurn, "id"> | null = null): void {
  if (!("n" in event)) followed.seq = event.seq;
  // Before the first wait, a late message may start further turns of the same feed.
  if (event.type === "turn.started" && followed.isOver) followed.turn = event.turnId;
  if (event.type !== "turn.ended" || event.turnId !== followed.turn) return;
  const continuation = next ?? event.next ?? null;
  followed.isOver = continuation === null;
  if (continuation !== null) followed.turn = continuation.id;
}
