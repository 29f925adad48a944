// Creates, finds, updates and forks sessions. A session is a movable pointer into its tree.
import { Fault } from "../../../protocol/api/error.ts";
import { checkSessionName } from "../../../protocol/api/session-name.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { NewSession, SessionChange, SessionFilter, SessionFork } from "../../store.ts";
import type { Db } from "../db.ts";
import { errorCode } from "../faults.ts";
import { assignments, columnsAndValues, toColumns } from "../rows/columns.ts";
import { treeOf } from "../rows/node-row.ts";
import { findSessionRow, inProject, selectSessions, sessionColumns, type SessionRow, sessionRow, toSession } from "../rows/session-row.ts";
import { Sql, sql } from "../sql.ts";

export function createSession(db: Db, session: NewSession): Promise<Session> {
  return db.write(() => {
    const at = Date.now();
    return insertSession(db, { tree: createTree(db, Bun.randomUUIDv7(), at), tip: null, at }, { ...session, forkedFrom: null });
  });
}

export function createTree(db: Db, id: string, at: number): number {
  return Number(db.run`insert into trees (id, created_at) values (${id}, ${at})`.lastInsertRowid);
}

/** Creates a session at an old node. Copies no nodes. */
export function forkSession(db: Db, from: string, node: string, { place, ...fork }: SessionFork): Promise<Session> {
  return db.write(() => {
    const original = sessionRow(db, from);
    const tip = nodeInTree(db, node, original);
    const { agent, model, directory, project, worktree, task, toolLevel, plan } = toSession(original);
    const copy = {
      agent,
      model,
      task,
      toolLevel,
      plan,
      parentSession: null,
      transcript: null,
      ...(place ?? { directory, project, worktree }),
    };
    return insertSession(db, { tree: original.tree, tip, at: Date.now() }, { ...copy, ...fork, forkedFrom: { session: from, node } });
  });
}

export function session(db: Db, id: string): Session | null {
  const row = findSessionRow(db, id);
  return row && toSession(row);
}

export function requireSession(db: Db, id: string): Session {
  return toSession(sessionRow(db, id));
}

/** Searches by id, then by name, then by tail. Prefers a name of the project, and a session that is not archived. */
export function findSession(db: Db, idOrName: string, project: string | null): Session {
  const exact = session(db, idOrName.toLowerCase()) ?? session(db, idOrName);
  if (exact) return exact;
  const byName = db.rows<SessionRow & { preference: number }>`
    select *, 2 * (project is not ${project} and worktree ->> '$.project' is not ${project}) + (archived_at is not null) as preference
    from (${selectSessions} where s.name = ${idOrName}) order by preference, updated_at desc limit 20`;
  const best = byName.filter((row) => row.preference === byName[0]?.preference);
  const matches = best.length > 0 ? best : sessionsWithTail(db, idOrName);
  if (matches.length === 1) return toSession(matches[0]!);
  if (matches.length === 0) {
    throw new Fault("session-unknown", `there is no session "${idOrName}"`, {
      hint: "`skein list` shows the sessions of this project",
    });
  }
  throw new Fault("session-ambiguous", `"${idOrName}" matches ${matches.length} sessions: ${matches.map(idAndName).join(", ")}`, {
    hint: "give more characters from the end of the id",
  });
}

export function listSessions(db: Db, filter: SessionFilter): Session[] {
  const { project, archived, subSessions, limit = -1 } = filter;
  const rows = db.rows<SessionRow>`
    ${selectSessions} where ${inProject(project)} and (s.archived_at is not null) = ${archived ? 1 : 0}
      and (${subSessions ? 1 : 0} or s.parent_session is null or s.plan is not null)
    order by s.updated_at desc, s.n desc limit ${limit}`;
  return rows.map(toSession);
}

export function updateSession(db: Db, id: string, change: SessionChange): Promise<Session> {
  return db.write(() => {
    const row = sessionRow(db, id);
    const { tip, ...fields } = change;
    const values = {
      ...toColumns(sessionColumns, fields),
      ...(tip === undefined ? {} : { tip: tip === null ? null : nodeInTree(db, tip, row) }),
      updated_at: Date.now(),
    };
    const name = change.name === undefined ? row.name : change.name;
    writeNamed(name, row.project, () => db.run`update sessions set ${assignments(values)} where n = ${row.n}`);
    return requireSession(db, id);
  });
}

/** Position of a new session: its tree and tip as row numbers, and the time of its creation. */
type Position = { tree: number; tip: number | null; at: number };

export function insertSession(db: Db, { tree, tip, at }: Position, session: NewSession & Pick<Session, "forkedFrom">): Session {
  const id = session.id?.toLowerCase() ?? Bun.randomUUIDv7();
  if (db.row`select 1 from sessions where id = ${id}`) {
    throw new Fault("session-exists", `there is already a session ${id}`, { hint: "leave the id out to get a new one" });
  }
  const values = {
    ...toColumns(sessionColumns, { ...session, id, createdAt: at, updatedAt: at }),
    tree,
    tip,
    forked_session: session.forkedFrom?.session ?? null,
    forked_node: session.forkedFrom?.node ?? null,
  };
  writeNamed(session.name, session.project, () => db.run`insert into sessions ${columnsAndValues(values)}`);
  return requireSession(db, id);
}

/** Checks the name of a session, and runs the write that stores it. Throws if another session of the project has the name. */
function writeNamed(name: string | null, project: string, write: () => unknown): void {
  if (name !== null) checkSessionName(name);
  try {
    write();
  } catch (error) {
    if (errorCode(error) !== "SQLITE_CONSTRAINT_UNIQUE") throw error;
    throw new Fault("session-exists", `there is already a session "${name}" in ${project}`, {
      hint: "choose another name, or continue in that session",
      cause: error,
    });
  }
}

function nodeInTree(db: Db, node: string, session: SessionRow): number {
  const row = db.row<{ n: number }>`select n from nodes where id = ${node}`;
  if (row && treeOf(row.n) === session.tree) return row.n;
  throw new Fault("node-unknown", `session ${session.name ?? session.id} has no node ${node} in its tree`);
}

function sessionsWithTail(db: Db, tail: string): SessionRow[] {
  return isTail(tail) ? db.rows<SessionRow>`${selectSessions} where ${endsWithTail("s.id", tail.toLowerCase())} limit 20` : [];
}

/** Whether the text can be the end of an id: four or more hex digits. */
export function isTail(text: string): boolean {
  return /^[0-9a-f-]*[0-9a-f]{4}$/i.test(text);
}

/** The condition that an id ends with `tail`. The last four digits have an index. */
export function endsWithTail(column: "s.id" | "c.id", tail: string): Sql {
  const id = new Sql(column);
  return sql`substr(${id}, -4) = ${tail.slice(-4)} and substr(${id}, -length(${tail})) = ${tail}`;
}

function idAndName(row: SessionRow): string {
  return row.name === null ? row.id : `${row.id} (${row.name})`;
}
