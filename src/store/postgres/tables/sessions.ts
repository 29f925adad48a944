// Creates, finds, updates and forks sessions in Postgres.
import { Fault } from "../../../protocol/api/error.ts";
import { checkSessionName } from "../../../protocol/api/session-name.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { type SessionRow, toSession } from "../../sqlite/rows/session-row.ts";
import { type Sql, sql } from "../../sqlite/sql.ts";
import { isTail } from "../../sqlite/tables/sessions.ts";
import type { NewSession, SessionChange, SessionFilter, SessionFork, SessionImport } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { inProject, selectSessions, sessionJson } from "./session-row.ts";

export async function createSession(db: PgDb, { id, ...fields }: NewSession): Promise<Session> {
  if (fields.name !== null) checkSessionName(fields.name);
  const columns = sessionJson({ ...fields, id: newId(id) });
  return toSession(await db.call<SessionRow>("create_session", columns, Bun.randomUUIDv7()));
}

/** Creates a session at an old node. Copies no nodes. */
export async function forkSession(db: PgDb, from: string, node: string, { place, id, ...fork }: SessionFork): Promise<Session> {
  if (fork.name !== null) checkSessionName(fork.name);
  const own = { parentSession: null, transcript: null, ...place, ...fork, id: newId(id), forkedFrom: { session: from, node } };
  return toSession(await db.call<SessionRow>("fork_session", from, node, sessionJson(own)));
}

export async function importSession(db: PgDb, imported: SessionImport, tree: string | null): Promise<Session> {
  if (imported.name !== null) checkSessionName(imported.name);
  const { createdAt, ...fields } = imported;
  const ids = [tree ?? Bun.randomUUIDv7(), Bun.randomUUIDv7()] as const;
  return toSession(await db.call<SessionRow>("import_session", sessionJson({ ...fields, id: newId(fields.id) }), ...ids, createdAt));
}

/** The session that an earlier import of the same conversation created. */
export async function importedSession(db: PgDb, agent: string, nativeId: string): Promise<Session | null> {
  const rows = await db.rows<SessionRow>(sql`${selectSessions} and s.source_id = ${nativeId}::text order by s.n`);
  return rows.map(toSession).find(({ source }) => source?.agent === agent) ?? null;
}

export async function session(db: PgDb, id: string): Promise<Session | null> {
  const row = await db.row<SessionRow>(sql`${selectSessions} and s.id = ${id}::text`);
  return row && toSession(row);
}

export async function requireSession(db: PgDb, id: string): Promise<Session> {
  const found = await session(db, id);
  if (found) return found;
  throw new Fault("session-unknown", `there is no session ${id}`, { hint: "`skein list` shows the sessions of this project" });
}

/** Searches by id, then by name, then by tail. Prefers a name of the project, and a session that is not archived. */
export async function findSession(db: PgDb, idOrName: string, project: string | null): Promise<Session> {
  const tail = idOrName.toLowerCase();
  const { exact, named, tailed } = await db.batch<{ exact: SessionRow; named: SessionRow & { preference: number }; tailed: SessionRow }>({
    exact: sql`${selectSessions} and s.id in (${tail}::text, ${idOrName}::text) order by s.id = ${tail}::text desc`,
    named: sql`
      select x.*, 2 * (x.project is distinct from ${project}::text and x.worktree_project is distinct from ${project}::text)::int
        + (x.archived_at is not null)::int as preference
      from (${selectSessions} and s.name = ${idOrName}::text) x order by preference, updated_at desc limit 20`,
    tailed: sql`${selectSessions} and ${isTail(idOrName)}::boolean and ${endsWithTail("s.id", tail)} limit 20`,
  });
  if (exact[0]) return toSession(exact[0]);
  const best = named.filter((row) => row.preference === named[0]?.preference);
  const matches = best.length > 0 ? best : tailed;
  if (matches.length === 1) return toSession(matches[0]!);
  if (matches.length === 0) {
    throw new Fault("session-unknown", `there is no session "${idOrName}"`, { hint: "`skein list` shows the sessions of this project" });
  }
  const names = matches.map(({ id, name }) => (name === null ? id : `${id} (${name})`));
  throw new Fault("session-ambiguous", `"${idOrName}" matches ${matches.length} sessions: ${names.join(", ")}`, {
    hint: "give more characters from the end of the id",
  });
}

export async function listSessions(db: PgDb, { project, archived, subSessions, limit }: SessionFilter): Promise<Session[]> {
  const rows = await db.rows<SessionRow>(sql`
    ${selectSessions} and ${inProject(project)} and (s.archived_at is not null) = ${archived === true}::boolean
      and (${subSessions === true}::boolean or s.parent_session is null or s.plan is not null)
    order by s.updated_at desc, s.n desc limit ${limit ?? null}::bigint`);
  return rows.map(toSession);
}

export async function updateSession(db: PgDb, id: string, { tip, ...change }: SessionChange): Promise<Session> {
  if (change.name !== undefined && change.name !== null) checkSessionName(change.name);
  return toSession(await db.call<SessionRow>("update_session", id, sessionJson(change), tip === undefined ? null : (tip ?? "")));
}

/** The condition that an id ends with `tail`. The last four digits have an index. */
export function endsWithTail(column: "s.id" | "c.id", tail: string): Sql {
  return sql`right(${column === "s.id" ? sql`s.id` : sql`c.id`}, 4) = ${tail.slice(-4)}::text
    and right(${column === "s.id" ? sql`s.id` : sql`c.id`}, length(${tail}::text)) = ${tail}::text`;
}

function newId(id: string | undefined): string {
  return id?.toLowerCase() ?? Bun.randomUUIDv7();
}
