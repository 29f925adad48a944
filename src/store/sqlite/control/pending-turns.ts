// Turns that start later: queued behind others, waiting for a limit, or continued after their process was killed.
// A row is consumed in the transaction that starts its turn, so a turn starts once, also if two processes try.
// The row of a running turn (`turn` is set) holds the request with which a later hub continues it.
import type { PendingTurn } from "../../../protocol/api/control.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { NewPendingTurn, StoredPendingTurn, TurnClose } from "../../store.ts";
import type { Db } from "../db.ts";
import { isHeld, type LeaseHolder } from "../lease.ts";
import { type PendingRow, toPending } from "../rows/control-rows.ts";
import { sessionRow } from "../rows/session-row.ts";
import { sql } from "../sql.ts";

/** Turns with one credential wake at least this far apart. */
const wakeGapMs = 2_000;
/** A turn that ends its process each time is not continued for ever. */
const maxContinuations = 3;

type InputRow = PendingRow & { n: number; session: number };

// A waiting or interrupted turn comes before the turns that were queued behind it.
const selectPending = sql`
  select i.*, s.id as session_id from inputs i join (select * from sessions where purged_at is null) s on s.n = i.session
  where i.kind <> 'message' and i.turn is null`;
const inOrder = sql`order by i.kind = 'queued', i.n`;

/** Needs no lease: a turn can be queued while any process runs another one. */
export function queueTurn(db: Db, session: string, pending: NewPendingTurn): Promise<PendingTurn> {
  return db.writeThrough(() => {
    const { n } = sessionRow(db, session);
    return pendingTurn(db, session, insertPending(db, n, pending))!;
  });
}

/** All pending turns, or those of one session, each session's next one first. */
export function pendingTurns(db: Db, self: LeaseHolder, session: string | null): PendingTurn[] {
  const busy = new Map<string, boolean>();
  return listPending(db, session).map((turn) => {
    if (!busy.has(turn.session)) busy.set(turn.session, isHeld(db, sessionRow(db, turn.session).n, self));
    return { ...turn, isSessionBusy: busy.get(turn.session)! };
  });
}

/** Searches by full id or unambiguous tail of 4 or more characters. Null if there is none. */
export function findPendingTurn(db: Db, idOrTail: string): StoredPendingTurn | null {
  const rows = idOrTail.length < 4 ? [] : db.rows<InputRow>`${selectPending} and i.id like ${`%${idOrTail.replace(/[%_]/g, "")}`}`;
  if (rows.length > 1)
    throw new Fault("pending-unknown", `several queued turns end with "${idOrTail}"`, { hint: "`skein ps --json` prints whole ids" });
  const [row] = rows;
  if (row === undefined) return null;
  return { ...pendingTurn(db, row.session_id, row.id)!, request: JSON.parse(row.request), attempt: row.attempt, giveUpAt: row.give_up_at };
}

/** Removes a pending turn. False if it has started or was withdrawn before. */
export async function withdrawTurn(db: Db, id: string): Promise<boolean> {
  const { changes } = await db.write(() => db.run`delete from inputs where id = ${id} and kind <> 'message' and turn is null`);
  return changes > 0;
}

/** Ends the wait of a session, and prevents that a killed turn of it is continued. Returns whether a turn waited. */
export async function stopContinuing(db: Db, session: string): Promise<boolean> {
  return db.write(() => {
    const { n } = sessionRow(db, session);
    db.run`delete from inputs where session = ${n} and turn is not null`;
    return db.run`delete from inputs where session = ${n} and kind in ('waiting', 'continued')`.changes > 0;
  });
}

export async function setPendingProblem(db: Db, id: string, problem: string | null): Promise<void> {
  await db.write(() => db.run`update inputs set problem = ${problem} where id = ${id} and turn is null`);
}

/** Null if it is not pending any more. */
export function pendingTurn(db: Db, session: string, id: string): PendingTurn | null {
  return listPending(db, session).find((turn) => turn.id === id) ?? null;
}

function listPending(db: Db, session: string | null): PendingTurn[] {
  const rows =
    session === null
      ? db.rows<InputRow>`${selectPending} ${inOrder}`
      : db.rows<InputRow>`${selectPending} and i.session = ${sessionRow(db, session).n} ${inOrder}`;
  const places = new Map<number, number>();
  return rows.map((row) => {
    const place = (places.get(row.session) ?? 0) + 1;
    places.set(row.session, place);
    return toPending(row, { place, isSessionBusy: false });
  });
}

// --- used inside a transaction ------------------------------------------------------------------------------

/** Returns the id. With `turn`, the row is the request of a running turn. */
export function insertPending(db: Db, session: number, { turn = null, ...pending }: NewPendingTurn & { turn?: number | null }): string {
  const { id = Bun.randomUUIDv7(), kind, request, caller, credential, giveUpAt, attempt } = pending;
  const wakeAt = pending.wakeAt === null ? null : freeWakeTime(db, credential, pending.wakeAt);
  db.run`
    insert into inputs (id, session, text, queued_at, queued_seq, kind, request, caller, credential, wake_at, give_up_at, attempt, turn)
    values (${id}, ${session}, '', ${Date.now()}, 0, ${kind}, ${JSON.stringify(request)}, ${JSON.stringify(caller)}, ${credential},
      ${wakeAt}, ${giveUpAt}, ${attempt}, ${turn})`;
  return id;
}

/** The first time from `wakeAt` on at which no other turn of the credential wakes. */
function freeWakeTime(db: Db, credential: string | null, wakeAt: number): number {
  const taken = db.rows<{ wake_at: number }>`
    select wake_at from inputs
    where kind <> 'message' and turn is null and wake_at > ${wakeAt - wakeGapMs} and credential is ${credential} order by wake_at`;
  return taken.reduce((free, { wake_at }) => (Math.abs(wake_at - free) < wakeGapMs ? wake_at + wakeGapMs : free), wakeAt);
}

/** Throws if the turn has started or was withdrawn. */
export function consumePending(db: Db, session: number, id: string): void {
  const { changes } = db.run`delete from inputs where id = ${id} and session = ${session} and kind <> 'message' and turn is null`;
  if (changes === 0) throw new Fault("pending-unknown", `the queued turn ${id} has started or was withdrawn`);
}

/** A turn that the user starts in the session takes the place of one that waits to continue. */
export function dropContinuations(db: Db, session: number): void {
  db.run`delete from inputs where session = ${session} and kind in ('waiting', 'continued')`;
}

/** Removes the request of a turn that has ended. Returns the pending turn that continues it, if it was interrupted. */
export function closeStarted(db: Db, turn: number, isInterrupted: TurnClose["isInterrupted"]): string | null {
  const row = db.row<InputRow>`select * from inputs where turn = ${turn}`;
  if (row === null) return null;
  db.run`delete from inputs where turn = ${turn}`;
  if (isInterrupted === undefined || (isInterrupted === "killed" && row.attempt >= maxContinuations)) return null;
  const { credential, give_up_at: giveUpAt, attempt } = row;
  const request = JSON.parse(row.request) as NewPendingTurn["request"];
  return insertPending(db, row.session, {
    kind: "continued",
    request,
    caller: JSON.parse(row.caller),
    credential,
    wakeAt: null,
    giveUpAt,
    attempt: isInterrupted === "killed" ? attempt + 1 : attempt,
  });
}
