// The stored form of a turn. A field of `Turn` is one line in `turnColumns` and one migration.
import type { Turn } from "../../../protocol/tree/turn.ts";
import { costOf, hasUnknownPrice, type Spent, zeroUsage } from "../../../protocol/tree/usage.ts";
import { sql, type Sql } from "../sql.ts";
import { type Column, readFields, type RowOf } from "./columns.ts";

/** Fields that have no column of their own: ids of other tables, and sums. */
type ComposedField = "session" | "parent" | "tip" | "usage" | "costUsd" | "costIsPartial" | "below";

/** `isLate`: unknown when the turn starts, so the event `turn.started` never has it. */
type TurnColumn = Column & { isLate?: true };

export const turnColumns = {
  id: { column: "id" },
  agent: { column: "agent" },
  model: { column: "model" },
  nativeId: { column: "native_id", isLate: true },
  policy: { column: "policy", isJson: true },
  enforced: { column: "enforced", isJson: true },
  steps: { column: "steps" },
  startedAt: { column: "started_at" },
  endedAt: { column: "ended_at", isLate: true },
  status: { column: "status", isLate: true },
  error: { column: "error", isJson: true, isLate: true },
  source: { column: "source", isJson: true, isOptional: true },
  role: { column: "role", isOptional: true },
  cli: { column: "cli", isJson: true, isOptional: true, isLate: true },
  check: { column: "check_task", isJson: true, isOptional: true },
  loop: { column: "loop", isJson: true, isOptional: true },
  checked: { column: "checked", isJson: true, isOptional: true, isLate: true },
} as const satisfies Record<Exclude<keyof Turn, ComposedField>, TurnColumn>;

export type TurnRow = RowOf<Turn, typeof turnColumns> &
  SpentRow & {
    n: number;
    session: number;
    session_id: string;
    parent_id: string | null;
    tip_id: string | null;
    /** JSON; null if the turn has no budget of its own. */
    budget: string | null;
  };

export const selectTurns = sql`
  select t.*, s.id as session_id, a.id as parent_id, b.id as tip_id
  from turns t join sessions s on s.n = t.session
  left join nodes a on a.n = t.parent left join nodes b on b.n = t.tip`;

/** Fields that the policies of older turns lack. */
const olderPolicy: Partial<Turn["policy"]> = { addDirs: [] };

/** Without `below`: `readTurns` adds it. */
export function toTurn(row: TurnRow): Turn {
  const fields = readFields<Turn, typeof turnColumns>(turnColumns, row);
  // Adds to the new object in place, because a long session has thousands of turns.
  return Object.assign(fields, {
    policy: fields.policy.addDirs === undefined ? { ...olderPolicy, ...fields.policy } : fields.policy,
    session: row.session_id,
    parent: row.parent_id,
    tip: row.tip_id,
    ...toSpent(row),
  });
}

/** The turn as it was when it started, so that a replayed `turn.started` equals the first one. */
export function asStarted(turn: Turn): Turn {
  const { costIsPartial: _isPartial, below: _below, ...fields } = turn;
  const started: Record<string, unknown> = { ...fields, tip: null, steps: 0, usage: zeroUsage, costUsd: 0 };
  for (const [field, { isLate, isOptional }] of Object.entries<TurnColumn>(turnColumns)) {
    if (isLate && isOptional) delete started[field];
    else if (isLate) started[field] = null;
  }
  return started as Turn;
}

// --- tokens and cost --------------------------------------------------------------------------------------

/** `unpriced` counts the requests of unknown price. */
export type SpentRow = { input: number; output: number; cache_read: number; cache_write: number; cost_usd: number; unpriced: number };

export function toSpent(row: SpentRow): Spent {
  return {
    usage: { input: row.input, output: row.output, cacheRead: row.cache_read, cacheWrite: row.cache_write },
    ...costOf(row.cost_usd, row.unpriced > 0),
  };
}

/** Assignments for `update turns set` that add to a turn's tokens and cost. */
export function addSpent({ usage, ...cost }: Spent): Sql {
  return sql`input = input + ${usage.input}, output = output + ${usage.output}, cache_read = cache_read + ${usage.cacheRead},
    cache_write = cache_write + ${usage.cacheWrite}, cost_usd = cost_usd + ${cost.costUsd ?? 0}, unpriced = unpriced + ${hasUnknownPrice(cost) ? 1 : 0}`;
}
