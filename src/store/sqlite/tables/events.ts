// Reads durable events: small rows that name a kind and point at the turn, node or question they are about.
import { Fault } from "../../../protocol/api/error.ts";
import type { DurableEvent, DurableEventBody } from "../../../protocol/tree/event.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import type { Session, Turn } from "../../../protocol/tree/turn.ts";
import type { Db } from "../db.ts";
import { type AskRow, asOpened, queueAt, selectAsks, toAsk } from "../rows/control-rows.ts";
import { sessionAt, sessionRow, toSession } from "../rows/session-row.ts";
import { asStarted } from "../rows/turn-row.ts";
import { sessionNodes } from "./nodes.ts";
import { turnsOfEvents } from "./turns.ts";
import { eventKinds, toEvent } from "./write-turn.ts";

export type StoredEvent = { seq: number; kind: number; turn_id: string | null; node_id: string | null; item: number | null; at: number };

export function events(db: Db, session: string, afterSeq: number): DurableEvent[] {
  const row = sessionRow(db, session);
  const rows = db.rows<StoredEvent>`
    select e.seq, e.kind, t.id as turn_id, c.id as node_id, e.item, e.at
    from events e left join turns t on t.n = e.turn left join nodes c on c.n = e.node
    where e.session = ${row.n} and e.seq > ${afterSeq} order by e.seq`;
  // A watcher of an idle session asks several times per second.
  if (rows.length === 0) return [];
  const nodes = new Map(sessionNodes(db, session, afterSeq).map((node) => [node.id, node]));
  const turns = new Map(turnsOfEvents(db, row.n, afterSeq).map((turn) => [turn.id, turn]));
  const owner = toSession(row);
  return rows.map((event) => {
    const subject = { session: owner, turn: turns.get(event.turn_id ?? ""), node: nodes.get(event.node_id ?? "") };
    const body = controlBody(db, row.n, event) ?? turnBody(event, subject);
    return toEvent({ seq: event.seq, session, turn: event.turn_id, at: event.at }, body);
  });
}

/** Questions and the queue are shown as they were at the event. Null for any other event. */
function controlBody(db: Db, session: number, event: StoredEvent): DurableEventBody | null {
  if (event.kind === eventKinds["queue.changed"]) return { type: "queue.changed", queue: queueAt(db, session, event.seq) };
  const ask = event.item === null ? null : db.row<AskRow>`${selectAsks} where a.n = ${event.item}`;
  if (ask === null) return null;
  if (event.kind === eventKinds["ask.opened"]) return { type: "ask.opened", ask: asOpened(toAsk(ask)) };
  return { type: "ask.closed", ask: toAsk(ask) };
}

type EventSubject = { session: Session; turn: Turn | undefined; node: Node | undefined };

/** The body of an event about a turn or a node. Throws if the turn or node is missing. */
export function turnBody(event: StoredEvent, { session, turn, node }: EventSubject): DurableEventBody {
  if (event.kind === eventKinds["node.added"] && node) return { type: "node.added", node };
  if (event.kind === eventKinds["turn.started"] && turn)
    return { type: "turn.started", turn: asStarted(turn), session: sessionAt(session, turn.parent, event.at) };
  if (event.kind === eventKinds["turn.ended"] && turn)
    return { type: "turn.ended", turn, session: sessionAt(session, turn.tip ?? turn.parent, event.at) };
  throw new Fault("store-broken", `event ${event.seq} of session ${session.id} points at a missing turn, node or question`, {
    hint: "`skein verify` lists the damage",
  });
}
