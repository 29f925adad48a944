// Reads durable events: small rows that name a kind and point at the turn, node or question they are about.
import { Fault } from "../../../protocol/api/error.ts";
import type { DurableEvent, DurableEventBody } from "../../../protocol/tree/event.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import type { Session, Turn } from "../../../protocol/tree/turn.ts";
import type { Db } from "../db.ts";
import { type AskRow, asOpened, queueAt, selectAsks, toAsk } from "../rows/control-rows.ts";
import { joinedNodeColumns, type NodeRow, toNodes } from "../rows/node-row.ts";
import { sessionAt, sessionRow, toSession } from "../rows/session-row.ts";
import { asStarted } from "../rows/turn-row.ts";
import { turnsOf } from "./turns.ts";
import { eventKinds, toEvent } from "./write-turn.ts";

type StoredEvent = { seq: number; kind: number; turn_id: string | null; node: number | null; item: number | null; at: number };

export function events(db: Db, session: string, afterSeq: number): DurableEvent[] {
  const row = sessionRow(db, session);
  const rows = db
    .query<StoredEvent>(
      `select e.seq, e.kind, t.id as turn_id, e.node, e.item, e.at from events e left join turns t on t.n = e.turn
       where e.session = ? and e.seq > ? order by e.seq`,
    )
    .all(row.n, afterSeq);
  const nodes = nodesBySeq(db, row.n, afterSeq);
  const turns = new Map(turnsOf(db, session).map((turn) => [turn.id, turn]));
  const owner = toSession(row);
  return rows.map((event) => {
    const turn = event.turn_id === null ? undefined : turns.get(event.turn_id);
    const body = controlBody(db, row.n, event) ?? turnBody(event, owner, turn, nodes.get(event.seq));
    return toEvent({ seq: event.seq, session, turn: event.turn_id, at: event.at }, body);
  });
}

/** Questions and the queue are shown as they were at the event. Null for any other event. */
function controlBody(db: Db, session: number, event: StoredEvent): DurableEventBody | null {
  if (event.kind === eventKinds["queue.changed"]) return { type: "queue.changed", queue: queueAt(db, session, event.seq) };
  const ask = event.item === null ? null : db.query<AskRow>(`${selectAsks} where a.n = ?`).get(event.item);
  if (ask === null) return null;
  if (event.kind === eventKinds["ask.opened"]) return { type: "ask.opened", ask: asOpened(toAsk(ask)) };
  return { type: "ask.closed", ask: toAsk(ask) };
}

function turnBody(event: StoredEvent, session: Session, turn: Turn | undefined, node: Node | undefined): DurableEventBody {
  if (event.kind === eventKinds["node.added"] && node) return { type: "node.added", node };
  if (event.kind === eventKinds["turn.started"] && turn)
    return { type: "turn.started", turn: asStarted(turn), session: sessionAt(session, turn.parent, event.at) };
  if (event.kind === eventKinds["turn.ended"] && turn)
    return { type: "turn.ended", turn, session: sessionAt(session, turn.tip ?? turn.parent, event.at) };
  throw new Fault("store-broken", `Event ${event.seq} of session ${session.id} points at a missing turn, node or question.`, {
    hint: "`skein verify` lists the damage.",
  });
}

function nodesBySeq(db: Db, session: number, afterSeq: number): Map<number, Node> {
  const rows = db
    .query(
      `select ${joinedNodeColumns}, e.seq from events e join nodes c on c.n = e.node
       where e.session = ? and e.seq > ? order by e.seq`,
    )
    .values(session, afterSeq) as [...NodeRow, seq: number][];
  const nodes = toNodes(
    db,
    rows.map((row) => row.slice(0, 7) as NodeRow),
  );
  return new Map(rows.map((row, index) => [row[7], nodes[index]!]));
}
