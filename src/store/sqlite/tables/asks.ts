// Stores the questions that turns ask, with their answer or the reason why there is none.
import type { Ask } from "../../../protocol/api/control.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { AskRequest } from "../../../protocol/api/ports.ts";
import type { AskClose, Lease, WriteResult } from "../../store.ts";
import type { Db } from "../db.ts";
import { requireLease, type WriteTarget } from "../lease.ts";
import { type AskRow, selectAsks, toAsk } from "../rows/control-rows.ts";
import { sessionRow } from "../rows/session-row.ts";
import { isTail } from "./sessions.ts";
import { openTurn, recordEvent, saveSeq, toEvent } from "./write-turn.ts";

export function openAsk(db: Db, lease: Lease, turn: string, request: AskRequest & { expiresAt: number | null }): WriteResult<Ask> {
  return db.writeThrough(() => {
    const target = requireLease(db, lease);
    const { n } = openTurn(db, target, turn);
    const { lastInsertRowid } = db
      .query("insert into asks (id, session, turn, call, question, options, opened_at, expires_at) values (?, ?, ?, ?, ?, ?, ?, ?)")
      .run(Bun.randomUUIDv7(), target.n, n, request.call, request.question, JSON.stringify(request.options), Date.now(), request.expiresAt);
    return writeAskEvent(db, target, Number(lastInsertRowid), "ask.opened");
  });
}

/** Throws `ask-closed` if the question is closed already. */
export function closeAsk(db: Db, lease: Lease, id: string, close: AskClose): WriteResult<Ask> {
  return db.writeThrough(() => {
    const target = requireLease(db, lease);
    const row = db.query<{ n: number }>("select n from asks where id = ? and session = ? and closed_at is null").get(id, target.n);
    if (row === null) throw new Fault("ask-closed", `The question ${id} is not open any more.`);
    const answer = close.outcome === "answered" ? close.answer : null;
    db.query("update asks set closed_at = ?, outcome = ?, answer = ? where n = ?").run(Date.now(), close.outcome, answer, row.n);
    return writeAskEvent(db, target, row.n, "ask.closed");
  });
}

/** Every question of one session, or the open questions of all sessions. */
export function asks(db: Db, session: string | null): Ask[] {
  if (session === null) return db.query<AskRow>(`${selectAsks} where a.closed_at is null order by a.n`).all().map(toAsk);
  return db.query<AskRow>(`${selectAsks} where a.session = ? order by a.n`).all(sessionRow(db, session).n).map(toAsk);
}

export function findAsk(db: Db, idOrTail: string): Ask {
  const tail = idOrTail.toLowerCase();
  const [ask, other] = db
    .query<AskRow>(`${selectAsks} where a.id = ?1 or (length(?1) >= 4 and substr(a.id, -length(?1)) = ?1)`)
    .all(isTail(tail) ? tail : idOrTail);
  if (ask !== undefined && other === undefined) return toAsk(ask);
  const problem = ask === undefined ? `There is no question "${idOrTail}".` : `More than one question ends with "${idOrTail}".`;
  throw new Fault("ask-unknown", problem, { hint: "`skein asks` lists the open questions." });
}

function writeAskEvent(db: Db, target: WriteTarget, ask: number, kind: "ask.opened" | "ask.closed"): WriteResult<Ask> {
  const at = Date.now();
  const row = db.query<AskRow>(`${selectAsks} where a.n = ?`).get(ask)!;
  recordEvent(db, target, { kind, turn: row.turn, item: ask, at });
  saveSeq(db, target, at);
  const value = toAsk(row);
  return { value, events: [toEvent({ seq: target.seq, session: target.id, turn: row.turn_id, at }, { type: kind, ask: value })] };
}
