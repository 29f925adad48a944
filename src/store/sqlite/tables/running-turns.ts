// What runs on this machine, and what has run: turns with who holds their session.
import { isStopped } from "../../../kit/process/processes.ts";
import type { TurnInfo } from "../../../protocol/api/control.ts";
import { countedTokens } from "../../../protocol/tree/usage.ts";
import type { Db } from "../db.ts";
import { type LeaseHolder, activeHolder, requireLease, heldState } from "../lease.ts";
import {
  selectSessions,
  selectTurns,
  spentColumns,
  toSession,
  toSpent,
  toTurn,
  type SessionRow,
  type SpentRow,
  type TurnRow as StoredTurn,
} from "../rows.ts";
import type { Lease, NewTurn } from "../../store.ts";

const endedLimit = 200;

/** Turns that have not ended, the latest first, then those that ended since then. */
export function listTurns(db: Db, self: LeaseHolder, endedSince: number | null): TurnInfo[] {
  const open = db.query<StoredTurn>(`${selectTurns} where t.ended_at is null order by t.n desc`).all();
  const ended =
    endedSince === null
      ? []
      : db
          .query<StoredTurn>(`${selectTurns} where t.ended_at >= ? and t.source is null order by t.ended_at desc limit ?`)
          .all(endedSince, endedLimit);
  return [...open, ...ended].flatMap((row) => toTurnInfo(db, self, row) ?? []);
}

/** Null when its session was purged. */
export function toTurnInfo(db: Db, self: LeaseHolder, row: StoredTurn): TurnInfo | null {
  const session = db.query<SessionRow>(`${selectSessions} where s.id = ?`).get(row.session_id);
  if (session === null) return null;
  const turn = toTurn(row);
  if (turn.endedAt !== null) return { session: toSession(session), turn, state: "ended", pid: null };
  const left = row.budget === null ? {} : { left: leftOf(db, row, JSON.parse(row.budget)) };
  return { session: toSession(session), turn, ...openTurnState(db, self, session), ...left };
}

/** What an open turn and all below it have not used of its budget. A request of unknown price counts as none, as for the budget itself. */
function leftOf(db: Db, { session_id, started_at }: StoredTurn, budget: NonNullable<NewTurn["budget"]>): TurnInfo["left"] {
  const used = db
    .query<SpentRow>(
      `with recursive below (id) as (
         select ?1 union select s.id from below b join sessions s on s.parent_session = b.id where s.plan is null
       )
       select ${spentColumns} from below b join sessions s on s.id = b.id join turns t on t.session = s.n where t.started_at >= ?2`,
    )
    .get(session_id, started_at)!;
  const rest = (limit: number | null, so: number) => (limit === null ? null : Math.max(0, limit - so));
  return { tokens: rest(budget.maxTokens, countedTokens(toSpent(used).usage)), costUsd: rest(budget.maxBudgetUsd, used.cost_usd) };
}

/** Of a turn that has not ended. */
export function openTurnState(db: Db, self: LeaseHolder, { id, n }: { id: string; n: number }) {
  const holder = activeHolder(db, id, self);
  return holder === null ? ({ state: "interrupted", pid: null } as const) : { state: stateSeen(db, n, holder.pid), pid: holder.pid };
}

/** A process that was stopped from outside can't say so itself. */
function stateSeen(db: Db, session: number, pid: number | null): ReturnType<typeof heldState> {
  return pid !== null && isStopped(pid) ? "paused" : heldState(db, session);
}

/** Shown by whoever lists what runs; ends with the lease. */
export function setState(db: Db, lease: Lease, state: "running" | "paused" | "asking"): void {
  db.write(() => {
    const { n } = requireLease(db, lease);
    db.query("update leases set state = ? where session = ?").run(state, n);
  });
}
