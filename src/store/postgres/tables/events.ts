// Reads durable events from Postgres: small rows that point at the turn, node or question they are about. One round trip.
import { Fault } from "../../../protocol/api/error.ts";
import type { DurableEvent, DurableEventBody } from "../../../protocol/tree/event.ts";
import { asOpened, type AskRow, toAsk } from "../../sqlite/rows/control-rows.ts";
import { type SessionRow, toSession } from "../../sqlite/rows/session-row.ts";
import { sql } from "../../sqlite/sql.ts";
import { type StoredEvent, turnBody } from "../../sqlite/tables/events.ts";
import { eventKinds } from "../../sqlite/tables/write-turn.ts";
import type { PgDb } from "../connection/connection.ts";
import { type NodeRow, sessionNodeRows, toNode } from "./nodes.ts";
import { selectSessions } from "./session-row.ts";
import { belowRows } from "./spending.ts";
import { type PgTurnRow, readTurns, selectTurns, type SubTurnRow } from "./turn-row.ts";
import { toEvent } from "./write-turn.ts";

type InputRow = { id: string; text: string; queued_at: number; queued_seq: number; taken_seq: number | null };

type Rows = {
  session: SessionRow;
  events: StoredEvent;
  nodes: NodeRow;
  turns: PgTurnRow;
  below: SubTurnRow;
  asks: AskRow & { n: number };
  inputs: InputRow;
};

export async function events(db: PgDb, session: string, afterSeq: number): Promise<DurableEvent[]> {
  const after = sql`from skein.events e where e.session = (select n from skein.sessions where id = ${session}::text) and e.seq > ${afterSeq}::bigint`;
  const rows = await db.batch<Rows>({
    session: sql`${selectSessions} and s.id = ${session}::text`,
    events: sql`
      select x.*, t.id as turn_id, c.id as node_id from (select e.* ${after}) x
      left join skein.turns t on t.n = x.turn left join skein.nodes c on c.n = x.node order by x.seq`,
    nodes: sessionNodeRows(session, afterSeq),
    turns: sql`${selectTurns} where t.n in (select e.turn ${after})`,
    below: belowRows(sql`select ${session}::text where exists (select 1 ${after})`),
    asks: sql`select a.* from skein.ask_rows a where a.n in (select e.item ${after})`,
    inputs: sql`
      select i.* from skein.inputs i join skein.sessions s on s.n = i.session
      where s.id = ${session}::text and i.kind = 'message' and exists (select 1 ${after} and e.kind = 6) order by i.n`,
  });
  const [row] = rows.session;
  if (!row)
    throw new Fault("session-unknown", `there is no session ${session}`, { hint: "`skein list` shows the sessions of this project" });
  const owner = toSession(row);
  const turns = new Map(readTurns(rows.turns, rows.below).map((turn) => [turn.id, turn]));
  const nodes = new Map(rows.nodes.map((node) => [node.id, toNode(node)]));
  const asks = new Map(rows.asks.map((ask) => [ask.n, ask]));
  return rows.events.map((event) => {
    const subject = { session: owner, turn: turns.get(event.turn_id ?? ""), node: nodes.get(event.node_id ?? "") };
    const body = controlBody(event, asks, rows.inputs) ?? turnBody(event, subject);
    return toEvent({ seq: event.seq, session, turn: event.turn_id, at: event.at }, body);
  });
}

/** Questions and the queue are shown as they were at the event. Null for any other event. */
function controlBody(event: StoredEvent, asks: ReadonlyMap<number, AskRow>, inputs: readonly InputRow[]): DurableEventBody | null {
  if (event.kind === eventKinds["queue.changed"]) {
    const queue = inputs
      .filter(({ queued_seq: from, taken_seq: to }) => from <= event.seq && (to === null || to > event.seq))
      .map(({ id, text, queued_at: queuedAt }) => ({ id, text, queuedAt }));
    return { type: "queue.changed", queue };
  }
  const ask = event.item === null ? undefined : asks.get(event.item);
  if (ask === undefined) return null;
  if (event.kind === eventKinds["ask.opened"]) return { type: "ask.opened", ask: asOpened(toAsk(ask)) };
  return { type: "ask.closed", ask: toAsk(ask) };
}
