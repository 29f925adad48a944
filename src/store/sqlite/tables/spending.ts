// Sums tokens and cost over turns: of sessions with their sub-sessions, of a budget, and for the bill.
import type { UsageEntry, UsageKey } from "../../../protocol/api/api.ts";
import type { TurnInfo } from "../../../protocol/api/control.ts";
import { countedTokens, type Spent } from "../../../protocol/tree/usage.ts";
import type { NewTurn } from "../../store.ts";
import type { Db } from "../db.ts";
import { type SpentRow, toSpent, type TurnRow } from "../rows/turn-row.ts";

/** Sums over the turns `t` of a query, as the columns of a SpentRow. */
export const spentSums = `total(t.input) as input, total(t.output) as output, total(t.cache_read) as cache_read,
  total(t.cache_write) as cache_write, total(t.cost_usd) as cost_usd, total(t.unpriced) as unpriced`;

/**
 * The SQL table `subtree (id)`: the sessions that `start` selects, and their sub-sessions at any depth.
 * A session that executes a plan is left out: it counts on its own.
 */
export function withSubtree(start: string): string {
  return `with recursive subtree (id) as (
    ${start} union select s.id from subtree b join sessions s on s.parent_session = b.id where s.plan is null
  )`;
}

/** The spending of these sessions and their sub-sessions in turns that have ended. */
export function spentBy(db: Db, sessions: readonly string[]): Spent {
  const sums = db
    .query<SpentRow>(
      `${withSubtree("select value from json_each(?)")}
       select ${spentSums} from subtree b join sessions s on s.id = b.id join turns t on t.session = s.n where t.ended_at is not null`,
    )
    .get(JSON.stringify(sessions))!;
  return toSpent(sums);
}

/** The unused rest of an open turn's budget. A request of unknown price counts as free, as for the budget itself. */
export function remainingBudget(
  db: Db,
  { session_id, started_at }: TurnRow,
  { maxTokens, maxBudgetUsd }: NonNullable<NewTurn["budget"]>,
): TurnInfo["left"] {
  const sums = db
    .query<SpentRow>(
      `${withSubtree("select ?1")}
       select ${spentSums} from subtree b join sessions s on s.id = b.id join turns t on t.session = s.n where t.started_at >= ?2`,
    )
    .get(session_id, started_at)!;
  const remaining = (limit: number | null, used: number) => (limit === null ? null : Math.max(0, limit - used));
  return { tokens: remaining(maxTokens, countedTokens(toSpent(sums).usage)), costUsd: remaining(maxBudgetUsd, sums.cost_usd) };
}

/** Days are those of the local time zone. */
const usageKeys: Record<UsageKey, string> = {
  day: "date(t.started_at / 1000, 'unixepoch', 'localtime')",
  agent: "t.agent",
  model: "coalesce(t.model, 'unknown')",
  project: "s.project",
};

/** The bill by day, agent, model or project. `unpriced` counts the turns with a request of unknown price. */
export function usage(db: Db, by: UsageKey, project: string | null): UsageEntry[] {
  const rows = db
    .query<SpentRow & { key: string; turns: number }>(
      `select ${usageKeys[by]} as key, count(*) as turns, sum(t.input) as input, sum(t.output) as output,
         sum(t.cache_read) as cache_read, sum(t.cache_write) as cache_write, sum(t.cost_usd) as cost_usd, sum(t.unpriced > 0) as unpriced
       from turns t join sessions s on s.n = t.session where ?1 is null or s.project = ?1
       group by 1 order by ${by === "day" ? "1 desc" : "cost_usd desc, turns desc, 1"}`,
    )
    .all(project);
  return rows.map((row) => ({
    key: row.key,
    turns: row.turns,
    usage: toSpent(row).usage,
    costUsd: row.cost_usd,
    unpriced: row.unpriced,
  }));
}
