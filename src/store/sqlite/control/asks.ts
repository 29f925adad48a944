// Stores the questions that turns ask, with their answer or the reason why there is none.
import type { Ask } from "../../../protocol/api/control.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { AskRequest } from "../../../protocol/api/ports.ts";
import type { AskClose, Lease, WriteResult } from "../../store.ts";
import type { Db } from "../db.ts";
import { requireLease, type WriteTarget } from "../lease.ts";
import { type AskRow, selectAsks, toAsk } from "../rows/control-rows.ts";
import { sessionRow } from "../rows/session-row.ts";
import { isTail } from "../tables/sessions.ts";
import { openTurn, recordEvent, saveSeq, toEvent } from "../tables/write-turn.ts";

export function openAsk(db: Db, lease: Lease, turn: string, request: AskRequest & { expiresAt: number | null }): Promise<WriteResult<Ask>> {
  return db.writeThrough(() => {
    const target = requireLease(db, lease);
    const { n } = openTurn(db, target, turn);
    const { call, question, options, expiresAt } = request;
    const { lastInsertRowid } = db.run`
      insert into asks (id, session, turn, call, question, options, opened_at, expires_at)
      values (${Bun.randomUUIDv7()}, ${target.n}, ${n}, ${call}, ${question}, ${JSON.stringify(options)}, ${Date.now()}, ${expiresAt})`;
    return writeAskEvent(db, target, Number(lastInsertRowid), "ask.opened");
  });
}

/** Throws `ask-closed` if the question is closed already. */
export function closeAsk(db: Db, lease: Lease, id: string, close: AskClose): Promise<WriteResult<Ask>> {
  return db.writeThrough(() => {
    const target = requireLease(db, lease);
    const row = db.row<{ n: number }>`select n from asks where id = ${id} and session = ${target.n} and closed_at is null`;
    if (row === null) throw new Fault("ask-closed", `the question ${id} is not open any more`);
    const answer = close.outcome === "answered" ? close.answer : null;
    db.run`update asks set closed_at = ${Date.now()}, outcome = ${close.outcome}, answer = ${answer} where n = ${row.n}`;
    return writeAskEvent(db, target, row.n, "ask.closed");
  });
}

/** Every question of one session, or the open questions of all sessions. */
export function asks(db: Db, session: string | null): Ask[] {
  if (session === null) return db.rows<AskRow>`${selectAsks} where a.closed_at is null order by a.n`.map(toAsk);
  return db.rows<AskRow>`${selectAsks} where a.session = ${sessionRow(db, session).n} order by a.n`.map(toAsk);
}

export function findAsk(db: Db, idOrTail: string): Ask {
  const tail = isTail(idOrTail) ? idOrTail.toLowerCase() : idOrTail;
  const [ask, other] = db.rows<AskRow>`
    ${selectAsks} where a.id = ${tail} or (length(${tail}) >= 4 and substr(a.id, -length(${tail})) = ${tail})`;
  if (ask !== undefined && other === undefined) return toAsk(ask);
  const problem = ask === undefined ? `there is no question "${idOrTail}"` : `more than one question ends with "${idOrTail}"`;
  throw new Fault("ask-unknown", problem, { hint: "`skein asks` lists the open questions" });
}

function writeAskEvent(db: Db, target: WriteTarget, ask: number, kind: "ask.opened" | "ask.closed"): WriteResult<Ask> {
  const at = Date.now();
  const row = db.row<AskRow>`${selectAsks} where a.n = ${ask}`!;
  recordEvent(db, target, { kind, turn: row.turn, item: ask, at });
  saveSeq(db, target, at);
  const value = toAsk(row);
  return { value, events: [toEvent({ seq: target.seq, session: target.id, turn: row.turn_id, at }, { type: kind, ask: value })] };
}
