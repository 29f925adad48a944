// Lasting events: small rows that say what happened and point at the turn or node that tells it whole.
import { Fault } from "../../../protocol/api/error.ts";
import type { DurableEventBody, DurableEvent } from "../../../protocol/tree/event.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import type { Session, Turn } from "../../../protocol/tree/turn.ts";
import { type AskRow, asOpened, queueAt, selectAsks, toAsk } from "./control-rows.ts";
import type { Db } from "../db.ts";
import {
  asStarted,
  type NodeRow,
  nodeColumns,
  selectTurns,
  sessionRow,
  sessionAt,
  toNodes,
  toSession,
  toTurn,
  type TurnRow,
} from "../rows.ts";

type Kind = DurableEventBody["type"];

export const eventKinds: Record<Kind, number> = {
  "turn.started": 1,
  "node.added": 2,
  "turn.ended": 3,
  "ask.opened": 4,
  "ask.closed": 5,
  "queue.changed": 6,
};

/** `item` is the question that an event is about. */
export type EventRow = { session: number; seq: number; kind: Kind; turn: number | null; node: number | null; item?: number; at: number };

export function recordEvent(db: Db, row: EventRow): void {
  db.query("insert into events (session, seq, kind, turn, node, item, at) values (?, ?, ?, ?, ?, ?, ?)").run(
    row.session,
    row.seq,
    eventKinds[row.kind],
    row.turn,
    row.node,
    row.item ?? null,
    row.at,
  );
}

/** A node that was added outside a turn has an empty `turnId`. */
export function toEvent(seq: number, session: string, turn: string | null, at: number, body: DurableEventBody): DurableEvent {
  return { seq, sessionId: session, turnId: turn ?? "", at, ...body };
}

type StoredEvent = { seq: number; kind: number; turn_id: string | null; node: number | null; item: number | null; at: number };

export function events(db: Db, session: string, afterSeq: number): DurableEvent[] {
  const row = sessionRow(db, session);
  const found = db
    .query<StoredEvent>(
      `select e.seq, e.kind, t.id as turn_id, e.node, e.item, e.at from events e left join turns t on t.n = e.turn
       where e.session = ? and e.seq > ? order by e.seq`,
    )
    .all(row.n, afterSeq);
  const nodes = nodesOf(db, row.n, afterSeq);
  const turns = turnsOf(db, row.n);
  const owner = toSession(row);
  return found.map((event) =>
    toEvent(
      event.seq,
      session,
      event.turn_id,
      event.at,
      controlOf(db, row.n, event) ?? bodyOf(event, owner, event.turn_id ? turns.get(event.turn_id) : undefined, nodes.get(event.seq)),
    ),
  );
}

/** Questions and messages are told as they were then. */
function controlOf(db: Db, session: number, event: StoredEvent): DurableEventBody | null {
  if (event.kind === eventKinds["queue.changed"]) return { type: "queue.changed", queue: queueAt(db, session, event.seq) };
  const ask = event.item === null ? null : db.query<AskRow>(`${selectAsks} where a.n = ?`).get(event.item);
  if (ask === null) return null;
  if (event.kind === eventKinds["ask.opened"]) return { type: "ask.opened", ask: asOpened(toAsk(ask)) };
  return { type: "ask.closed", ask: toAsk(ask) };
}

function bodyOf(event: StoredEvent, session: Session, turn: Turn | undefined, node: Node | undefined): DurableEventBody {
  if (event.kind === eventKinds["node.added"] && node) return { type: "node.added", node };
  if (event.kind === eventKinds["turn.started"] && turn)
    return { type: "turn.started", turn: asStarted(turn), session: sessionAt(session, turn.parent, event.at) };
  if (event.kind === eventKinds["turn.ended"] && turn)
    return { type: "turn.ended", turn, session: sessionAt(session, turn.tip ?? turn.parent, event.at) };
  throw new Fault("store-broken", `Event ${event.seq} of session ${session.id} tells of something that is not there.`, {
    hint: "`skein verify` lists what is damaged.",
  });
}

function nodesOf(db: Db, session: number, afterSeq: number): Map<number, Node> {
  const rows = db
    .query(
      `select ${nodeColumns.replaceAll(/\w+/g, "c.$&")}, e.seq from events e join nodes c on c.n = e.node
       where e.session = ? and e.seq > ? order by e.seq`,
    )
    .values(session, afterSeq) as [...NodeRow, seq: number][];
  const nodes = toNodes(
    db,
    rows.map((row) => row.slice(0, 7) as NodeRow),
  );
  return new Map(rows.map((row, index) => [row[7], nodes[index]!]));
}

function turnsOf(db: Db, session: number): Map<string, Turn> {
  const rows = db.query<TurnRow>(`${selectTurns} where t.session = ? order by t.n`).all(session);
  return new Map(rows.map((row) => [row.id, toTurn(row)]));
}
