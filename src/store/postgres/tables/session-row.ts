// The stored form of a session in Postgres: the columns of SQLite's, and those that Postgres needs for an index.
import type { Session } from "../../../protocol/tree/turn.ts";
import { toColumns } from "../../sqlite/rows/columns.ts";
import { sessionColumns } from "../../sqlite/rows/session-row.ts";
import { sql, type Sql } from "../../sqlite/sql.ts";
import { packValue } from "../connection/packed-text.ts";

/** Leaves purged sessions out: their rows only stay for the nodes that other sessions need. */
export const selectSessions = sql`
  select s.*, t.id as tree_id, p.id as tip_id from skein.sessions s join skein.trees t on t.n = s.tree
  left join skein.nodes p on p.n = s.tip where s.purged_at is null`;

/** The condition that a session `s` belongs to the project, also in one of its worktrees. Null: to any project. */
export function inProject(project: string | null): Sql {
  return sql`(${project}::text is null or s.project = ${project}::text or s.worktree_project = ${project}::text)`;
}

/** The columns of a session as JSON, for the functions of the database. */
export function sessionJson(fields: Partial<Session>): string {
  const columns: Record<string, unknown> = toColumns(sessionColumns, fields);
  if (fields.source !== undefined) columns["source_id"] = fields.source?.nativeId ?? null;
  if (fields.worktree !== undefined) {
    columns["worktree_project"] = fields.worktree?.project ?? null;
    columns["worktree_name"] = fields.worktree?.name ?? null;
  }
  if (fields.forkedFrom) {
    columns["forked_session"] = fields.forkedFrom.session;
    columns["forked_node"] = fields.forkedFrom.node;
  }
  return JSON.stringify(packValue(columns));
}
