// The stored form of questions and of queued messages, also as they were at an earlier event.
import type { Ask, QueuedInput } from "../../../protocol/api/control.ts";
import type { Db } from "../db.ts";

export type AskRow = {
  n: number;
  id: string;
  session_id: string;
  turn: number;
  turn_id: string;
  call: string | null;
  question: string;
  options: string;
  opened_at: number;
  expires_at: number | null;
  closed_at: number | null;
  outcome: Ask["outcome"];
  answer: string | null;
};

export const selectAsks = `
  select a.*, s.id as session_id, t.id as turn_id
  from asks a join (select * from sessions where purged_at is null) s on s.n = a.session join turns t on t.n = a.turn`;

export function toAsk(row: AskRow): Ask {
  return {
    id: row.id,
    session: row.session_id,
    turn: row.turn_id,
    call: row.call,
    question: row.question,
    options: JSON.parse(row.options),
    openedAt: row.opened_at,
    expiresAt: row.expires_at,
    closedAt: row.closed_at,
    outcome: row.outcome,
    answer: row.answer,
  };
}

/** The question as it was when it was opened, so that a replayed `ask.opened` equals the first one. */
export function asOpened(ask: Ask): Ask {
  return { ...ask, closedAt: null, outcome: null, answer: null };
}

export type InputRow = { n: number; id: string; text: string; queued_at: number };

/** The messages that were queued right after event `seq`. */
export function queueAt(db: Db, session: number, seq: number): QueuedInput[] {
  return inputRowsAt(db, session, seq).map(({ id, text, queued_at }) => ({ id, text, queuedAt: queued_at }));
}

export function inputRowsAt(db: Db, session: number, seq: number): InputRow[] {
  return db
    .query<InputRow>(
      `select n, id, text, queued_at from inputs
       where session = ?1 and queued_seq <= ?2 and (taken_seq is null or taken_seq > ?2) order by n`,
    )
    .all(session, seq);
}
