// Records of worktrees in Postgres. They outlive the sessions that worked there.
import { Fault } from "../../../protocol/api/error.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { WorktreeRecord } from "../../../protocol/worktree/ports.ts";
import { toColumns } from "../../sqlite/rows/columns.ts";
import { type SessionRow, toSession } from "../../sqlite/rows/session-row.ts";
import { sql } from "../../sqlite/sql.ts";
import { toRecord, worktreeColumns, type WorktreeRow } from "../../sqlite/worktrees/worktrees.ts";
import type { Store, WorktreeKey } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { selectSessions } from "./session-row.ts";
import { packedJson } from "./write-turn.ts";

export async function worktree(db: PgDb, project: string, name: string): Promise<WorktreeRecord | null> {
  const row = await db.row<WorktreeRow>(sql`select * from skein.worktrees where project = ${project}::text and name = ${name}::text`);
  return row && toRecord(row);
}

export async function worktreeAt(db: PgDb, directory: string): Promise<WorktreeRecord | null> {
  const row = await db.row<WorktreeRow>(sql`select * from skein.worktrees where directory = ${directory}::text`);
  return row && toRecord(row);
}

export async function listWorktrees(db: PgDb, project: string | null): Promise<WorktreeRecord[]> {
  const rows = await db.rows<WorktreeRow>(sql`
    select * from skein.worktrees where ${project}::text is null or project = ${project}::text order by created_at desc, n desc`);
  return rows.map(toRecord);
}

export function addWorktree(db: PgDb, record: WorktreeRecord): Promise<boolean> {
  return db.call<boolean>("add_worktree", packedJson(toColumns(worktreeColumns, record)));
}

export async function updateWorktree(
  db: PgDb,
  { project, name }: WorktreeKey,
  change: Parameters<Store["updateWorktree"]>[1],
): Promise<WorktreeRecord> {
  const row = await db.call<WorktreeRow | null>("update_worktree", project, name, packedJson(toColumns(worktreeColumns, change)));
  if (row === null) throw new Fault("usage", `the worktree ${name} was removed meanwhile`);
  return toRecord(row);
}

export async function removeWorktree(db: PgDb, { project, name }: WorktreeKey): Promise<void> {
  await db.run("delete from skein.worktrees where project = $1::text and name = $2::text", project, name);
}

export async function worktreeSessions(db: PgDb, { project, name }: WorktreeKey): Promise<Session[]> {
  const rows = await db.rows<SessionRow>(sql`
    ${selectSessions} and s.worktree_project = ${project}::text and s.worktree_name = ${name}::text
    order by s.updated_at desc, s.n desc`);
  return rows.map(toSession);
}
