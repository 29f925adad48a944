// Stores in Postgres the questions that turns ask, with their answer or the reason why there is none.
import type { Ask } from "../../../protocol/api/control.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { AskRequest } from "../../../protocol/api/ports.ts";
import { type AskRow, toAsk } from "../../sqlite/rows/control-rows.ts";
import { type Sql, sql } from "../../sqlite/sql.ts";
import { isTail } from "../../sqlite/tables/sessions.ts";
import type { AskClose, Lease, WriteResult } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { packedJson, toEvent } from "../tables/write-turn.ts";

type AskAnswer = { seq: number; at: number; ask: AskRow };
type AskParams = AskRequest & { expiresAt: number | null };

export async function openAsk(db: PgDb, lease: Lease, turn: string, request: AskParams): Promise<WriteResult<Ask>> {
  const { call, question, options, expiresAt } = request;
  const ask = { id: Bun.randomUUIDv7(), call, question, options: JSON.stringify(options), expiresAt };
  return askResult(lease, "ask.opened", await db.call<AskAnswer>("open_ask", lease.session, lease.epoch, turn, packedJson(ask)));
}

/** Throws `ask-closed` if the question is closed already. */
export async function closeAsk(db: PgDb, lease: Lease, id: string, close: AskClose): Promise<WriteResult<Ask>> {
  const answer = close.outcome === "answered" ? close.answer : null;
  const request = packedJson({ outcome: close.outcome, answer });
  return askResult(lease, "ask.closed", await db.call<AskAnswer>("close_ask", lease.session, lease.epoch, id, request));
}

function askResult(lease: Lease, type: "ask.opened" | "ask.closed", { seq, at, ask }: AskAnswer): WriteResult<Ask> {
  const value = toAsk(ask);
  return { value, events: [toEvent({ seq, session: lease.session, turn: value.turn, at }, { type, ask: value })] };
}

/** The questions of one session, or the open ones of all. */
export function askRows(session: string | null): Sql {
  if (session === null) return sql`select a.* from skein.ask_rows a where a.closed_at is null order by a.n`;
  return sql`select a.* from skein.ask_rows a where a.session = skein.number_of_session(${session}::text) order by a.n`;
}

export async function asks(db: PgDb, session: string | null): Promise<Ask[]> {
  return (await db.rows<AskRow>(askRows(session))).map(toAsk);
}

export async function findAsk(db: PgDb, idOrTail: string): Promise<Ask> {
  const tail = isTail(idOrTail) ? idOrTail.toLowerCase() : idOrTail;
  const [ask, other] = await db.rows<AskRow>(sql`
    select a.* from skein.ask_rows a where a.id = ${tail}::text
      or (length(${tail}::text) >= 4 and right(a.id, length(${tail}::text)) = ${tail}::text)`);
  if (ask !== undefined && other === undefined) return toAsk(ask);
  const problem = ask === undefined ? `there is no question "${idOrTail}"` : `more than one question ends with "${idOrTail}"`;
  throw new Fault("ask-unknown", problem, { hint: "`skein asks` lists the open questions" });
}
