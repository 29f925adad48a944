// Turns in Postgres that start later: queued, waiting for a limit, or continued after their process was killed.
import type { PendingTurn } from "../../../protocol/api/control.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { NewPendingTurn, StoredPendingTurn } from "../../store.ts";
import { toPending as toSharedPending, type PendingRow as SharedRow } from "../../sqlite/rows/control-rows.ts";
import { type Sql, sql } from "../../sqlite/sql.ts";
import type { PgDb } from "../connection/connection.ts";
import { packValue } from "../connection/packed-text.ts";

export type PendingRow = SharedRow & { place: number; is_busy: boolean };

export function pendingJson({ id = Bun.randomUUIDv7(), kind, request, caller, ...times }: NewPendingTurn) {
  const { credential, wakeAt, giveUpAt, attempt } = times;
  return { id, kind, request: JSON.stringify(request), caller: JSON.stringify(caller), credential, wakeAt, giveUpAt, attempt };
}

/** Needs no lease: a turn can be queued while any process runs another one. */
export async function queueTurn(db: PgDb, session: string, pending: NewPendingTurn): Promise<PendingTurn> {
  const row = await db.call<PendingRow>("queue_turn", session, JSON.stringify(packValue(pendingJson(pending))));
  return { ...toPending(row), isSessionBusy: false };
}

/** The rows of one session, or of all. Within a session a waiting or continued turn comes before the queued ones. */
export function pendingRows(session: string | null): Sql {
  const ofSession = session === null ? sql`true` : sql`p.session = skein.number_of_session(${session}::text)`;
  return sql`select p.* from skein.pending_rows p where ${ofSession} order by p.kind = 'queued', p.n`;
}

export async function pendingTurns(db: PgDb, session: string | null): Promise<PendingTurn[]> {
  return (await db.rows<PendingRow>(pendingRows(session))).map(toPending);
}

/** Searches by full id or unambiguous tail of 4 or more characters. Null if there is none. */
export async function findPendingTurn(db: PgDb, idOrTail: string): Promise<StoredPendingTurn | null> {
  if (idOrTail.length < 4) return null;
  const rows = await db.rows<PendingRow>(
    sql`select p.* from skein.pending_rows p where right(p.id, length(${idOrTail}::text)) = ${idOrTail}::text`,
  );
  if (rows.length > 1)
    throw new Fault("pending-unknown", `several queued turns end with "${idOrTail}"`, { hint: "`skein ps --json` prints whole ids" });
  const [row] = rows;
  if (row === undefined) return null;
  const turn = { ...toPending(row), isSessionBusy: false };
  return { ...turn, request: JSON.parse(row.request), attempt: row.attempt, giveUpAt: row.give_up_at };
}

/** Removes a pending turn. False if it has started or was withdrawn before. */
export async function withdrawTurn(db: PgDb, id: string): Promise<boolean> {
  return (await db.run("delete from skein.inputs where id = $1::text and kind <> 'message' and turn is null", id)) > 0;
}

export function stopContinuing(db: PgDb, session: string): Promise<boolean> {
  return db.call<boolean>("stop_continuing", session);
}

export async function setPendingProblem(db: PgDb, id: string, problem: string | null): Promise<void> {
  await db.run("update skein.inputs set problem = $1::text where id = $2::text and turn is null", problem, id);
}

export function toPending(row: PendingRow): PendingTurn {
  return toSharedPending(row, { place: row.place, isSessionBusy: row.is_busy });
}
