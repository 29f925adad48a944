// Sessions: the only movable thing in the tree. Making, finding, moving and forking them.
import { Fault } from "../../../protocol/api/error.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { Db } from "../db.ts";
import { errorCode } from "../faults.ts";
import { type SessionRow, selectSessions, sessionRow, toSession, treeOf } from "../rows.ts";
import type { NewSession, SessionChange, SessionFilter } from "../../store.ts";

export function createSession(db: Db, session: NewSession): Session {
  return db.write(() => {
    const at = Date.now();
    const tree = db.query("insert into trees (id, created_at) values (?, ?)").run(Bun.randomUUIDv7(), at);
    return insertSession(db, Number(tree.lastInsertRowid), null, at, { ...session, forkedFrom: null });
  });
}

export function forkSession(db: Db, from: string, node: string, fork: { id?: string; name: string | null }): Session {
  return db.write(() => {
    const source = sessionRow(db, from);
    const tip = nodeInTree(db, node, source);
    const { agent, model, directory, project, task, toolLevel } = toSession(source);
    const plan = source.plan === null ? {} : { plan: source.plan };
    const copy = { agent, model, directory, project, task, toolLevel, parentSession: null, transcript: null, ...plan };
    return insertSession(db, source.tree, tip, Date.now(), { ...copy, ...fork, forkedFrom: { session: from, node } });
  });
}

export function session(db: Db, id: string): Session | null {
  const row = db.query<SessionRow>(`${selectSessions} where s.id = ?`).get(id);
  return row && toSession(row);
}

export function findSession(db: Db, wanted: string, project: string | null): Session {
  const exact = session(db, wanted.toLowerCase()) ?? session(db, wanted);
  if (exact) return exact;
  const named = db
    .query<SessionRow & { place: number }>(
      `select *, 2 * (project is not ?1) + (archived_at is not null) as place from (${selectSessions} where s.name = ?2)
       order by place, updated_at desc limit 20`,
    )
    .all(project, wanted);
  const best = named.filter((row) => row.place === named[0]?.place);
  const found = best.length > 0 ? best : withTail(db, wanted);
  if (found.length === 1) return toSession(found[0]!);
  if (found.length === 0) {
    throw new Fault("session-unknown", `There is no session "${wanted}".`, {
      hint: "`skein list` shows the sessions of this project.",
    });
  }
  throw new Fault("session-ambiguous", `"${wanted}" can mean ${found.length} sessions: ${found.map(described).join(", ")}.`, {
    hint: "Give more of the id, from its end.",
  });
}

export function listSessions(db: Db, filter: SessionFilter): Session[] {
  const rows = db
    .query<SessionRow>(
      `${selectSessions}
       where (?1 is null or s.project = ?1) and (s.archived_at is not null) = ?2 and (?3 or s.parent_session is null or s.plan is not null)
       order by s.updated_at desc, s.n desc limit ?4`,
    )
    .all(filter.project, filter.archived ? 1 : 0, filter.subSessions ? 1 : 0, filter.limit ?? -1);
  return rows.map(toSession);
}

export function updateSession(db: Db, id: string, change: SessionChange): Session {
  return db.write(() => {
    const row = sessionRow(db, id);
    const next = { ...toSession(row), ...change };
    const tip = change.tip === undefined ? row.tip : change.tip === null ? null : nodeInTree(db, change.tip, row);
    const update = db.query(
      `update sessions set name = ?, tip = ?, agent = ?, model = ?, task = ?, tool_level = ?, archived_at = ?, transcript = ?,
       source = ?, updated_at = ? where n = ?`,
    );
    refusingTaken(next.name, next.project, () =>
      update.run(
        next.name,
        tip,
        next.agent,
        next.model,
        next.task,
        next.toolLevel,
        next.archivedAt,
        next.transcript,
        next.source === undefined ? null : JSON.stringify(next.source),
        Date.now(),
        row.n,
      ),
    );
    return toSession(sessionRow(db, id));
  });
}

type Insertion = NewSession & Pick<Session, "forkedFrom">;

export function insertSession(db: Db, tree: number, tip: number | null, at: number, session: Insertion): Session {
  const id = session.id?.toLowerCase() ?? Bun.randomUUIDv7();
  const insert = db.query(
    `insert into sessions (id, tree, tip, name, agent, model, directory, project, task, tool_level, parent_session,
       forked_session, forked_node, transcript, plan, created_at, updated_at, source)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const { name, agent, model, directory, project, task, toolLevel, parentSession, forkedFrom, transcript } = session;
  if (db.query("select 1 from sessions where id = ?").get(id)) {
    throw new Fault("session-exists", `There is already a session ${id}.`, { hint: "Leave the id out to get a fresh one." });
  }
  refusingTaken(name, project, () =>
    insert.run(
      id,
      tree,
      tip,
      name,
      agent,
      model,
      directory,
      project,
      task,
      toolLevel,
      parentSession,
      forkedFrom?.session ?? null,
      forkedFrom?.node ?? null,
      transcript,
      session.plan ?? null,
      at,
      at,
      session.source === undefined ? null : JSON.stringify(session.source),
    ),
  );
  return toSession(sessionRow(db, id));
}

function refusingTaken(name: string | null, project: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    if (errorCode(error) !== "SQLITE_CONSTRAINT_UNIQUE") throw error;
    throw new Fault("session-exists", `There is already a session "${name}" in ${project}.`, {
      hint: "Choose another name, or go on in that session.",
      cause: error,
    });
  }
}

function nodeInTree(db: Db, node: string, source: SessionRow): number {
  const row = db.query<{ n: number }>("select n from nodes where id = ?").get(node);
  if (row && treeOf(row.n) === source.tree) return row.n;
  throw new Fault("node-unknown", `Session ${source.name ?? source.id} has no node ${node} in its tree.`);
}

function withTail(db: Db, wanted: string): SessionRow[] {
  if (!isTail(wanted)) return [];
  const tail = wanted.toLowerCase();
  return db
    .query<SessionRow>(`${selectSessions} where substr(s.id, -4) = ? and substr(s.id, -length(?2)) = ?2 limit 20`)
    .all(tail.slice(-4), tail);
}

export function isTail(wanted: string): boolean {
  return /^[0-9a-f-]*[0-9a-f]{4}$/i.test(wanted);
}

function described(row: SessionRow): string {
  return row.name === null ? row.id : `${row.id} (${row.name})`;
}
