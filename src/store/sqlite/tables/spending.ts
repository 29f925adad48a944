// Sums tokens and cost over turns: of sessions with their sub-sessions, of a budget, and for the bill.
import type { UsageEntry, UsageKey, UsageSeriesParams } from "../../../protocol/api/api.ts";
import type { UsagePoint } from "../../../protocol/schema/views/usage-views.ts";
import type { TurnInfo } from "../../../protocol/api/control.ts";
import type { Turn } from "../../../protocol/tree/turn.ts";
import { addSpent, countedTokens, quarterHourMs, type Spent } from "../../../protocol/tree/usage.ts";
import type { NewTurn, SubSession } from "../../store.ts";
import type { Db } from "../db.ts";
import { inProject } from "../rows/session-row.ts";
import { type SpentRow, toSpent, toTurn, type TurnRow } from "../rows/turn-row.ts";
import { sql, type Sql } from "../sql.ts";

/** Sums over the turns `t` of a query, as the columns of a SpentRow. */
export const spentSums = sql`total(t.input) as input, total(t.output) as output, total(t.cache_read) as cache_read,
  total(t.cache_write) as cache_write, total(t.cost_usd) as cost_usd, total(t.unpriced) as unpriced`;

/**
 * The SQL table `subtree (id)`: the sessions that `start` selects, and their sub-sessions at any depth.
 * A session that executes a plan is left out: it counts on its own.
 */
export function withSubtree(start: Sql): Sql {
  return sql`with recursive subtree (id) as (
    ${start} union select s.id from subtree b join sessions s on s.parent_session = b.id where s.plan is null
  )`;
}

/** The spending of these sessions and their sub-sessions in turns that have ended. */
export function spentBy(db: Db, sessions: readonly string[]): Spent {
  const sums = db.row<SpentRow>`
    ${withSubtree(sql`select value from json_each(${JSON.stringify(sessions)})`)}
    select ${spentSums} from subtree b join sessions s on s.id = b.id join turns t on t.session = s.n where t.ended_at is not null`;
  return toSpent(sums!);
}

/** Reads turns from their rows, each with the spending of the sub-sessions that ran while it did. */
export function readTurns(db: Db, rows: readonly TurnRow[]): Turn[] {
  if (rows.length === 0) return [];
  const sessions = JSON.stringify([...new Set(rows.map((row) => row.session_id))]);
  const subTurns = db.rows<SpentRow & { root: string; started_at: number }>`
    with recursive subtree (root, id) as (
      select s.parent_session, s.id from sessions s
      where s.parent_session in (select value from json_each(${sessions})) and s.plan is null
      union select b.root, s.id from subtree b join sessions s on s.parent_session = b.id where s.plan is null
    )
    select b.root, t.started_at, t.input, t.output, t.cache_read, t.cache_write, t.cost_usd, t.unpriced
    from subtree b join sessions s on s.id = b.id join turns t on t.session = s.n`;
  if (subTurns.length === 0) return rows.map(toTurn);
  const subTurnsByRoot = Map.groupBy(subTurns, ({ root }) => root);
  return rows.map((row) => {
    const duringTurn = (subTurnsByRoot.get(row.session_id) ?? []).filter(
      (subTurn) => row.started_at <= subTurn.started_at && subTurn.started_at <= (row.ended_at ?? Infinity),
    );
    return { ...toTurn(row), ...(duringTurn.length === 0 ? {} : { below: duringTurn.map(toSpent).reduce(addSpent) }) };
  });
}

/** The unused part of an open turn's budget. A request of unknown price counts as free, as for the budget itself. */
export function remainingBudget(db: Db, turn: TurnRow, { maxTokens, maxBudgetUsd }: NonNullable<NewTurn["budget"]>): TurnInfo["left"] {
  const sums = db.row<SpentRow>`
    ${withSubtree(sql`select ${turn.session_id}`)}
    select ${spentSums} from subtree b join sessions s on s.id = b.id join turns t on t.session = s.n
    where t.started_at >= ${turn.started_at}`!;
  const remaining = (limit: number | null, used: number) => (limit === null ? null : Math.max(0, limit - used));
  return { tokens: remaining(maxTokens, countedTokens(toSpent(sums).usage)), costUsd: remaining(maxBudgetUsd, sums.cost_usd) };
}

/** Days are those of the local time zone. */
const usageKeys: Record<UsageKey, Sql> = {
  day: sql`date(t.started_at / 1000, 'unixepoch', 'localtime')`,
  agent: sql`t.agent`,
  model: sql`coalesce(t.model, 'unknown')`,
  project: sql`coalesce(s.worktree ->> '$.project', s.project)`,
};

export type BillRow = SpentRow & { key: string; turns: number; unpriced_turns: number };

/** The bill by day, agent, model or project. `unpriced` counts the turns with a request of unknown price. */
export function usage(db: Db, by: UsageKey, project: string | null): UsageEntry[] {
  const rows = db.rows<BillRow>`
    select ${usageKeys[by]} as key, ${billSums}
    from turns t join sessions s on s.n = t.session where ${inProject(project)}
    group by 1 order by ${by === "day" ? sql`1 desc` : sql`cost_usd desc, turns desc, 1`}`;
  return rows.map(toEntry);
}

/** The bill of each quarter of an hour, the oldest first. */
export function usageSeries(db: Db, { by, since, project }: Pick<UsageSeriesParams, "by" | "since" | "project">): UsagePoint[] {
  const rows = db.rows<BillRow & { at: number }>`
    select ${usageKeys[by]} as key, t.started_at / ${quarterHourMs} * ${quarterHourMs} as at, ${billSums}
    from turns t join sessions s on s.n = t.session where ${inProject(project)} and t.started_at >= ${since ?? 0}
    group by 2, 1 order by 2, 1`;
  return rows.map((row) => ({ at: row.at, ...toEntry(row) }));
}

const billSums = sql`count(*) as turns, sum(t.unpriced > 0) as unpriced_turns, ${spentSums}`;

export function toEntry(row: BillRow): UsageEntry {
  return {
    key: row.key,
    turns: row.turns,
    usage: toSpent(row).usage,
    costUsd: row.cost_usd,
    ...(row.unpriced > 0 ? { costIsPartial: true as const } : {}),
    unpriced: row.unpriced_turns,
  };
}

export type SubSessionRow = SpentRow & {
  id: string;
  parent: string;
  steps: number;
  running: number;
  started_at: number | null;
  ended_at: number | null;
};

export function toSubSession(row: SubSessionRow): SubSession {
  return {
    session: row.id,
    parent: row.parent,
    spent: toSpent(row),
    steps: row.steps,
    startedAt: row.started_at,
    endedAt: row.running > 0 ? null : row.ended_at,
  };
}
