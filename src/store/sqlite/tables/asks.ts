// Questions that turns ask, each with its answer or with why there is none.
import type { Ask } from "../../../protocol/api/control.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { AskRequest } from "../../../protocol/api/ports.ts";
import { type AskRow, selectAsks, toAsk } from "./control-rows.ts";
import type { Db } from "../db.ts";
import { toEvent, recordEvent } from "./events.ts";
import { type WriteTarget, requireLease } from "../lease.ts";
import { openTurn } from "./nodes.ts";
import { sessionRow } from "../rows.ts";
import { isTail } from "./sessions.ts";
import type { AskClose, Lease, WriteResult } from "../../store.ts";

export function openAsk(db: Db, lease: Lease, turn: string, request: AskRequest & { expiresAt: number | null }): WriteResult<Ask> {
  return db.writeThrough(() => {
    const ground = requireLease(db, lease);
    const { n } = openTurn(db, ground, turn);
    const { lastInsertRowid } = db
      .query("insert into asks (id, session, turn, call, question, options, opened_at, expires_at) values (?, ?, ?, ?, ?, ?, ?, ?)")
      .run(Bun.randomUUIDv7(), ground.n, n, request.call, request.question, JSON.stringify(request.options), Date.now(), request.expiresAt);
    return writeAskEvent(db, lease, ground, Number(lastInsertRowid), "ask.opened");
  });
}

/** Closed once: whoever comes second is told so. */
export function closeAsk(db: Db, lease: Lease, id: string, close: AskClose): WriteResult<Ask> {
  return db.writeThrough(() => {
    const ground = requireLease(db, lease);
    const row = db.query<{ n: number }>("select n from asks where id = ? and session = ? and closed_at is null").get(id, ground.n);
    if (row === null) throw new Fault("ask-closed", `The question ${id} is not open any more.`);
    const answer = close.outcome === "answered" ? close.answer : null;
    db.query("update asks set closed_at = ?, outcome = ?, answer = ? where n = ?").run(Date.now(), close.outcome, answer, row.n);
    return writeAskEvent(db, lease, ground, row.n, "ask.closed");
  });
}

/** Those of one session with every outcome, or the open ones of all. */
export function asks(db: Db, session: string | null): Ask[] {
  if (session === null) return db.query<AskRow>(`${selectAsks} where a.closed_at is null order by a.n`).all().map(toAsk);
  return db.query<AskRow>(`${selectAsks} where a.session = ? order by a.n`).all(sessionRow(db, session).n).map(toAsk);
}

/** By full id or unambiguous tail. */
export function findAsk(db: Db, wanted: string): Ask {
  const tail = wanted.toLowerCase();
  const found = db
    .query<AskRow>(`${selectAsks} where a.id = ?1 or (length(?1) >= 4 and substr(a.id, -length(?1)) = ?1)`)
    .all(isTail(tail) ? tail : wanted);
  const [ask, other] = found;
  if (ask !== undefined && other === undefined) return toAsk(ask);
  const problem = ask === undefined ? `There is no question "${wanted}".` : `More than one question ends with "${wanted}".`;
  throw new Fault("ask-unknown", problem, { hint: "`skein asks` lists those without an answer." });
}

function writeAskEvent(db: Db, lease: Lease, target: WriteTarget, ask: number, kind: "ask.opened" | "ask.closed"): WriteResult<Ask> {
  const at = Date.now();
  const seq = target.seq + 1;
  const row = db.query<AskRow>(`${selectAsks} where a.n = ?`).get(ask)!;
  recordEvent(db, { session: target.n, seq, kind, turn: row.turn, node: null, item: ask, at });
  db.query("update sessions set seq = ?, updated_at = ? where n = ?").run(seq, at, target.n);
  const value = toAsk(row);
  return { value, events: [toEvent(seq, lease.session, row.turn_id, at, { type: kind, ask: value })] };
}
