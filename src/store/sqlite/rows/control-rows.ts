// The stored form of questions, queued messages and turns that start later. Questions and the queue also as they were at an
// earlier event.
import type { Ask, PendingTurn, QueuedInput } from "../../../protocol/api/control.ts";
import type { Db } from "../db.ts";
import { sql } from "../sql.ts";
import { type Columns, readFields, type RowOf } from "./columns.ts";

const askColumns = {
  id: { column: "id" },
  session: { column: "session_id" },
  turn: { column: "turn_id" },
  call: { column: "call" },
  question: { column: "question" },
  options: { column: "options", isJson: true },
  openedAt: { column: "opened_at" },
  expiresAt: { column: "expires_at" },
  closedAt: { column: "closed_at" },
  outcome: { column: "outcome" },
  answer: { column: "answer" },
} as const satisfies Columns<keyof Ask>;

/** `turn` is the number of the turn's row. */
export type AskRow = RowOf<Ask, typeof askColumns> & { turn: number };

export const selectAsks = sql`
  select a.*, s.id as session_id, t.id as turn_id
  from asks a join (select * from sessions where purged_at is null) s on s.n = a.session join turns t on t.n = a.turn`;

export function toAsk(row: AskRow): Ask {
  return readFields<Ask, typeof askColumns>(askColumns, row);
}

/** The question as it was when it was opened, so that a replayed `ask.opened` equals the first one. */
export function asOpened(ask: Ask): Ask {
  return { ...ask, closedAt: null, outcome: null, answer: null };
}

/** The messages that were queued right after event `seq`. */
export function queueAt(db: Db, session: number, seq: number): QueuedInput[] {
  return db.rows<QueuedInput>`
    select id, text, queued_at as queuedAt from inputs
    where session = ${session} and kind = 'message' and queued_seq <= ${seq} and (taken_seq is null or taken_seq > ${seq}) order by n`;
}

/** The columns of a pending turn that every store has. */
export type PendingRow = {
  id: string;
  session_id: string;
  kind: PendingTurn["kind"];
  request: string;
  caller: string;
  credential: string | null;
  queued_at: number;
  wake_at: number | null;
  give_up_at: number | null;
  attempt: number;
  problem: string | null;
};

export function toPending(row: PendingRow, position: Pick<PendingTurn, "place" | "isSessionBusy">): PendingTurn {
  const { prompt } = JSON.parse(row.request) as { prompt: string | null };
  return {
    id: row.id,
    session: row.session_id,
    kind: row.kind,
    prompt,
    queuedAt: row.queued_at,
    wakeAt: row.wake_at,
    problem: row.problem,
    credential: row.credential,
    caller: JSON.parse(row.caller),
    ...position,
  };
}
