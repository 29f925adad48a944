// Records of worktrees. They outlive the sessions that worked there, so that a purge can't lose work that is not merged.
import { Fault } from "../../../protocol/api/error.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { WorktreeRecord } from "../../../protocol/worktree/ports.ts";
import type { Store, WorktreeKey } from "../../store.ts";
import type { Db } from "../db.ts";
import { assignments, type Columns, columnsAndValues, readFields, type RowOf, toColumns } from "../rows/columns.ts";
import { selectSessions, type SessionRow, toSession } from "../rows/session-row.ts";

export const worktreeColumns = {
  project: { column: "project" },
  name: { column: "name" },
  directory: { column: "directory" },
  branch: { column: "branch" },
  base: { column: "base" },
  files: { column: "files" },
  port: { column: "port" },
  linked: { column: "linked", isJson: true },
  copied: { column: "copied", isJson: true },
  setup: { column: "setup" },
  createdAt: { column: "created_at" },
  mergedAt: { column: "merged_at" },
  merging: { column: "merging", isJson: true },
} as const satisfies Columns<keyof WorktreeRecord>;

export type WorktreeRow = RowOf<WorktreeRecord, typeof worktreeColumns>;

export function worktree(db: Db, project: string, name: string): WorktreeRecord | null {
  const row = db.row<WorktreeRow>`select * from worktrees where project = ${project} and name = ${name}`;
  return row && toRecord(row);
}

export function worktreeAt(db: Db, directory: string): WorktreeRecord | null {
  const row = db.row<WorktreeRow>`select * from worktrees where directory = ${directory}`;
  return row && toRecord(row);
}

export function listWorktrees(db: Db, project: string | null): WorktreeRecord[] {
  const rows = db.rows<WorktreeRow>`
    select * from worktrees where ${project} is null or project = ${project} order by created_at desc, n desc`;
  return rows.map(toRecord);
}

export function addWorktree(db: Db, record: WorktreeRecord): Promise<boolean> {
  return db.write(() => {
    if (worktree(db, record.project, record.name) !== null) return false;
    db.run`insert into worktrees ${columnsAndValues(toColumns(worktreeColumns, record))}`;
    return true;
  });
}

export function updateWorktree(db: Db, { project, name }: WorktreeKey, change: Parameters<Store["updateWorktree"]>[1]) {
  return db.write((): WorktreeRecord => {
    const values = assignments(toColumns(worktreeColumns, change));
    db.run`update worktrees set ${values} where project = ${project} and name = ${name}`;
    const record = worktree(db, project, name);
    if (record === null) throw new Fault("usage", `the worktree ${name} was removed meanwhile`);
    return record;
  });
}

export function removeWorktree(db: Db, { project, name }: WorktreeKey): Promise<void> {
  return db.write(() => void db.run`delete from worktrees where project = ${project} and name = ${name}`);
}

export function worktreeSessions(db: Db, { project, name }: WorktreeKey): Session[] {
  const rows = db.rows<SessionRow>`
    ${selectSessions} where s.worktree is not null and s.worktree ->> '$.project' = ${project} and s.worktree ->> '$.name' = ${name}
    order by s.updated_at desc, s.n desc`;
  return rows.map(toSession);
}

export function toRecord(row: WorktreeRow): WorktreeRecord {
  return readFields<WorktreeRecord, typeof worktreeColumns>(worktreeColumns, row);
}
