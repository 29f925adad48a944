// Lists turns of the fleet, running and ended, with the process that holds their session.
import { isStopped } from "../../../kit/process/processes.ts";
import type { TurnInfo } from "../../../protocol/api/control.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { countedTokens } from "../../../protocol/tree/usage.ts";
import type { LeaseHolder } from "../../sqlite/lease.ts";
import { type SessionRow, toSession } from "../../sqlite/rows/session-row.ts";
import { type SpentRow, toSpent } from "../../sqlite/rows/turn-row.ts";
import { type Sql, sql } from "../../sqlite/sql.ts";
import type { HeldState, Lease, NewTurn, Store } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { activeHolder, type HeldRow, holderColumns } from "../leases/lease.ts";
import { inProject, selectSessions } from "./session-row.ts";
import { belowRows, spentSumsOfU, withSubtree } from "./spending.ts";
import { type PgTurnRow, readTurns, selectTurns, type SubTurnRow } from "./turn-row.ts";

const endedLimit = 200;

export function listTurns(db: PgDb, self: LeaseHolder, endedSince: number | null): Promise<TurnInfo[]> {
  return turnInfos(db, self, {
    where: sql`t.ended_at is null or t.n in (
      select n from skein.turns where ended_at >= ${endedSince}::float8 and source is null order by ended_at desc limit ${endedLimit}::bigint)`,
    order: sql`t.ended_at is not null, t.ended_at desc, t.n desc`,
  });
}

export function latestTurnsBy(db: PgDb, self: LeaseHolder, ...params: Parameters<Store["latestTurnsBy"]>): Promise<TurnInfo[]> {
  const [agent, { project = null, session = null, limit }] = params;
  return turnInfos(db, self, {
    where: sql`t.n in (
      select max(u.n) from skein.sessions s join skein.turns u on u.session = s.n
      where u.agent = ${agent}::text and ${inProject(project)} and (${session}::text is null or s.id = ${session}::text)
        and s.purged_at is null group by s.n order by 1 desc limit ${limit ?? null}::bigint)`,
    order: sql`t.n desc`,
  });
}

type InfoRows = {
  turns: PgTurnRow;
  below: SubTurnRow;
  sessions: SessionRow & HeldRow;
  spent: SpentRow & { turn: string };
};

/** The queries for turns with their session, holder, spending and the rest of their budget. */
export function infoQueries(where: Sql, order: Sql = sql`t.n`): { [Name in keyof InfoRows]: Sql } {
  const sessions = sql`select t.session_id from skein.turn_rows t where ${where}`;
  return {
    turns: sql`${selectTurns} where ${where} order by ${order}`,
    below: belowRows(sessions),
    sessions: sql`select x.*, h.held_state, h.worker from (${selectSessions} and s.id in (${sessions})) x
      cross join lateral (select ${holderColumns} from skein.sessions s where s.n = x.n) h`,
    spent: sql`
      select t.id as turn, b.* from skein.turn_rows t cross join lateral (
        ${withSubtree(sql`select t.session_id`)}
        select ${spentSumsOfU} from subtree b join skein.sessions s on s.id = b.id join skein.turns u on u.session = s.n
        where u.started_at >= t.started_at) b
      where t.budget is not null and t.ended_at is null and (${where})`,
  };
}

async function turnInfos(db: PgDb, self: LeaseHolder, { where, order }: { where: Sql; order: Sql }): Promise<TurnInfo[]> {
  return toTurnInfos(await db.batch<InfoRows>(infoQueries(where, order)), self);
}

/** Leaves turns of purged sessions out. */
export function toTurnInfos(
  { turns, below, sessions, spent }: { [Name in keyof InfoRows]: InfoRows[Name][] },
  self: LeaseHolder,
): TurnInfo[] {
  const byId = new Map(sessions.map((row) => [row.id, row]));
  const budgets = new Map(spent.map((row) => [row.turn, row]));
  return readTurns(turns, below).flatMap((turn, index): TurnInfo[] => {
    const row = byId.get(turn.session);
    if (row === undefined) return [];
    const session = toSession(row);
    if (turn.endedAt !== null) return [{ session, turn, state: "ended", pid: null }];
    const { budget } = turns[index]!;
    const left = budget === null ? undefined : remaining(JSON.parse(budget), budgets.get(turn.id)!);
    return [{ session, turn, ...openTurnState(row, self), left }];
  });
}

/** The state of a session whose last turn has not ended. */
export function openTurnState(row: HeldRow, self: LeaseHolder) {
  const holder = activeHolder(row, self);
  if (holder === null) return { state: "interrupted", pid: null } as const;
  // A process that a signal has stopped can't store its state.
  const isHolderStopped = holder.pid !== null && isStopped(holder.pid);
  const place = holder.pid === null && holder.machine !== undefined ? { machine: holder.machine } : {};
  return { ...(isHolderStopped ? ({ state: "paused" } as const) : storedState(row.held_state)), pid: holder.pid, ...place };
}

/** A wait is over when its time has passed; the holder stores nothing then. */
function storedState(stored: string | null): { state: "running" | "paused" | "asking"; retryAt?: number } {
  if (stored === "paused" || stored === "asking") return { state: stored };
  const retryAt = Number(/^waiting (\d+)$/.exec(stored ?? "")?.[1] ?? 0);
  return retryAt > Date.now() ? { state: "running", retryAt } : { state: "running" };
}

/** The unused part of an open turn's budget. A request of unknown price counts as free, as for the budget itself. */
function remaining({ maxTokens, maxBudgetUsd }: NonNullable<NewTurn["budget"]>, row: SpentRow): TurnInfo["left"] {
  const rest = (limit: number | null, used: number) => (limit === null ? null : Math.max(0, limit - used));
  return { tokens: rest(maxTokens, countedTokens(toSpent(row).usage)), costUsd: rest(maxBudgetUsd, row.cost_usd) };
}

/** A turn that still runs is not interrupted. A failed command of the user (`shell`) is no turn to continue, unless it is the check of a loop. */
export async function interruptedSession(db: PgDb, self: LeaseHolder, project: string): Promise<Session | null> {
  const rows = await db.rows<SessionRow & HeldRow>(sql`
    select x.*, h.held_state, h.worker from (${selectSessions} and ${inProject(project)} and s.archived_at is null
      and (s.parent_session is null or s.plan is not null)) x
    join skein.turns last on last.n = (select max(n) from skein.turns where session = x.n)
    cross join lateral (select ${holderColumns} from skein.sessions s where s.n = x.n) h
    where last.status is distinct from 'ok' and (last.agent <> 'shell' or last.loop is not null) and last.source is null
    order by last.started_at desc`);
  const interrupted = rows.find((row) => activeHolder(row, self) === null);
  return interrupted === undefined ? null : toSession(interrupted);
}

/** The state is reset when the session is acquired again. */
export async function setState(db: PgDb, lease: Lease, state: HeldState): Promise<void> {
  await db.call("set_state", lease.session, lease.epoch, typeof state === "string" ? state : `waiting ${state.retryAt}`);
}
