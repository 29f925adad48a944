// The stored form of a session. A field of `Session` is one line in `sessionColumns` and one migration.
import { Fault } from "../../../protocol/api/error.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { Db } from "../db.ts";
import { sql, type Sql } from "../sql.ts";
import { type Columns, readFields, type RowOf } from "./columns.ts";

/** Fields that are not one column of this table: `tree`, `tip` and `latestPrompt` come from other tables, `forkedFrom` from two columns. */
type ComposedField = "tree" | "tip" | "forkedFrom" | "latestPrompt";

export const sessionColumns = {
  id: { column: "id" },
  name: { column: "name" },
  agent: { column: "agent" },
  model: { column: "model" },
  directory: { column: "directory" },
  project: { column: "project" },
  task: { column: "task" },
  toolLevel: { column: "tool_level" },
  parentSession: { column: "parent_session" },
  transcript: { column: "transcript" },
  plan: { column: "plan", isOptional: true },
  createdAt: { column: "created_at" },
  updatedAt: { column: "updated_at" },
  archivedAt: { column: "archived_at" },
  source: { column: "source", isJson: true, isOptional: true },
  undone: { column: "undone", isJson: true, isOptional: true },
  worktree: { column: "worktree", isJson: true, isOptional: true },
} as const satisfies Columns<Exclude<keyof Session, ComposedField>>;

export type SessionRow = RowOf<Session, typeof sessionColumns> & {
  n: number;
  tree: number;
  tree_id: string;
  tip: number | null;
  tip_id: string | null;
  seq: number;
  forked_session: string | null;
  forked_node: string | null;
};

/** Leaves purged sessions out: their rows only stay for the nodes that other sessions need. */
export const selectSessions = sql`
  select s.*, t.id as tree_id, p.id as tip_id
  from (select * from sessions where purged_at is null) s join trees t on t.n = s.tree left join nodes p on p.n = s.tip`;

/** The condition that a session belongs to the project, also in one of its worktrees. Null: to any project. */
export function inProject(project: string | null): Sql {
  return sql`(${project} is null or s.project = ${project} or (s.worktree is not null and s.worktree ->> '$.project' = ${project}))`;
}

export function toSession(row: SessionRow): Session {
  const { forked_session: session, forked_node: node } = row;
  return {
    ...readFields<Session, typeof sessionColumns>(sessionColumns, row),
    tree: row.tree_id,
    tip: row.tip_id,
    forkedFrom: session !== null && node !== null ? { session, node } : null,
  };
}

export function findSessionRow(db: Db, id: string): SessionRow | null {
  return db.row<SessionRow>`${selectSessions} where s.id = ${id}`;
}

export function sessionRow(db: Db, id: string): SessionRow {
  const row = findSessionRow(db, id);
  if (!row) throw new Fault("session-unknown", `there is no session ${id}`, { hint: "`skein list` shows the sessions of this project" });
  return row;
}

/** The session as it was when its turn started or ended, so that a replayed event equals the first one. */
export function sessionAt(session: Session, tip: string | null, at: number): Session {
  return { ...session, tip, updatedAt: at };
}
