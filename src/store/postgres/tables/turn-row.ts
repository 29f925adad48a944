// The stored form of a turn in Postgres: columns that queries read, and the others as JSON. A new field of `Turn` needs no
// change here: it is in `turnColumns`, and so in one of the two JSON columns.
import type { Turn } from "../../../protocol/tree/turn.ts";
import { addSpent, hasUnknownPrice, type Spent } from "../../../protocol/tree/usage.ts";
import { toColumns } from "../../sqlite/rows/columns.ts";
import { type SpentRow, toSpent, toTurn, turnColumns, type TurnRow } from "../../sqlite/rows/turn-row.ts";
import { sql } from "../../sqlite/sql.ts";

/** The columns that the table has itself. */
const ownColumns = ["id", "agent", "model", "native_id", "source", "loop", "steps", "started_at", "ended_at", "status"];

export type PgTurnRow = TurnRow & { fields: string; end_fields: string | null };
export type SubTurnRow = SpentRow & { root: string; started_at: number };

export const selectTurns = sql`select t.* from skein.turn_rows t`;

/** The values of a turn's columns: those of the table, and the others as the JSON of one column. */
export function splitColumns(fields: Partial<Turn>): { own: Record<string, unknown>; rest: string } {
  const own: Record<string, unknown> = {};
  const rest: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(toColumns(turnColumns, fields))) (ownColumns.includes(name) ? own : rest)[name] = value;
  return { own, rest: JSON.stringify(rest) };
}

/** Without `below`. */
export function readTurn({ fields, end_fields: endFields, ...row }: PgTurnRow): Turn {
  const missing = { source: null, role: null, cli: null, check_task: null, checked: null, enforced: null, error: null };
  return toTurn({ ...missing, ...row, ...JSON.parse(fields), ...(endFields === null ? {} : JSON.parse(endFields)) } as TurnRow);
}

/** Turns with the spending of the sub-sessions that ran while they did. `below` has the turns of those. */
export function readTurns(rows: readonly PgTurnRow[], below: readonly SubTurnRow[]): Turn[] {
  const byRoot = Map.groupBy(below, ({ root }) => root);
  return rows.map((row) => {
    const duringTurn = (byRoot.get(row.session_id) ?? []).filter(
      (subTurn) => row.started_at <= subTurn.started_at && subTurn.started_at <= (row.ended_at ?? Infinity),
    );
    return { ...readTurn(row), ...(duringTurn.length === 0 ? {} : { below: duringTurn.map(toSpent).reduce(addSpent) }) };
  });
}

/** Spending as the functions of the database add it. */
export function spentJson({ usage, ...cost }: Spent, steps: number): Record<string, number> {
  return { ...usage, costUsd: cost.costUsd ?? 0, unpriced: hasUnknownPrice(cost) ? 1 : 0, steps };
}
