// Lists the turns of this machine, running and ended, with the process that holds their session.
import { isStopped } from "../../../kit/process/processes.ts";
import type { TurnInfo } from "../../../protocol/api/control.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { HeldState, Lease } from "../../store.ts";
import type { Db } from "../db.ts";
import { activeHolder, heldState, type LeaseHolder, requireLease } from "../lease.ts";
import { findSessionRow, inProject, selectSessions, type SessionRow, toSession } from "../rows/session-row.ts";
import { selectTurns, type TurnRow } from "../rows/turn-row.ts";
import { readTurns, remainingBudget } from "./spending.ts";

const endedLimit = 200;

export function listTurns(db: Db, self: LeaseHolder, endedSince: number | null): TurnInfo[] {
  const open = db.rows<TurnRow>`${selectTurns} where t.ended_at is null order by t.n desc`;
  const ended = db.rows<TurnRow>`
    ${selectTurns} where t.ended_at >= ${endedSince} and t.source is null order by t.ended_at desc limit ${endedLimit}`;
  return [...open, ...ended].flatMap((row) => toTurnInfo(db, self, row) ?? []);
}

/** Null if the session was purged. */
export function toTurnInfo(db: Db, self: LeaseHolder, row: TurnRow): TurnInfo | null {
  const session = findSessionRow(db, row.session_id);
  if (session === null) return null;
  const turn = readTurns(db, [row])[0]!;
  if (turn.endedAt !== null) return { session: toSession(session), turn, state: "ended", pid: null };
  const remaining = row.budget === null ? undefined : remainingBudget(db, row, JSON.parse(row.budget));
  return { session: toSession(session), turn, ...openTurnState(db, self, session), left: remaining };
}

/** The state of a session whose last turn has not ended. */
export function openTurnState(db: Db, self: LeaseHolder, { id, n }: { id: string; n: number }) {
  const holder = activeHolder(db, id, self);
  if (holder === null) return { state: "interrupted", pid: null } as const;
  // A process that a signal has stopped can't store its state.
  const isHolderStopped = holder.pid !== null && isStopped(holder.pid);
  return { ...(isHolderStopped ? ({ state: "paused" } as const) : heldState(db, n)), pid: holder.pid };
}

/** A turn that still runs is not interrupted. A failed command of the user (`shell`) is no turn to continue, unless it is the check of a loop. */
export function interruptedSession(db: Db, self: LeaseHolder, project: string): Session | null {
  const rows = db.rows<SessionRow>`
    select s.* from (${selectSessions}) s join turns last on last.n = (select max(n) from turns where session = s.n)
    where ${inProject(project)} and s.archived_at is null and (s.parent_session is null or s.plan is not null)
      and last.status is not 'ok' and (last.agent <> 'shell' or last.loop is not null) and last.source is null
    order by last.started_at desc`;
  const interrupted = rows.find(({ id }) => activeHolder(db, id, self) === null);
  return interrupted === undefined ? null : toSession(interrupted);
}

/** The state is reset when the session is acquired again. */
export async function setState(db: Db, lease: Lease, state: HeldState): Promise<void> {
  const stored = typeof state === "string" ? state : `waiting ${state.retryAt}`;
  await db.write(() => {
    const { n } = requireLease(db, lease);
    db.run`update leases set state = ${stored} where session = ${n}`;
  });
}
