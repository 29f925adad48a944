// What was imported: sessions, turns and nodes that bring their own ids and times, added where they belong and not
// at a tip. Every write checks the lease; what is stored already is never touched.
import { writeSync } from "node:fs";
import { Fault } from "../../../protocol/api/error.ts";
import type { Handle } from "../../../protocol/tree/handle.ts";
import type { ImportedNode, ImportedTurn } from "../../../protocol/tree/import.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { Db } from "../db.ts";
import { recordEvent } from "./events.ts";
import { type WriteTarget, requireLease } from "../lease.ts";
import { addToTurn, takeNodeNumber } from "./nodes.ts";
import type { OutputFiles } from "../outputs/output-files.ts";
import { nodeColumns, selectSessions, type SessionRow, toSession, treeOf } from "../rows.ts";
import { insertSession } from "./sessions.ts";
import type { ImportBatch, Lease, SessionImport } from "../../store.ts";

/** In the tree that is named (made when it is not there), else in one of its own. Who was faster with the id made it. */
export function importSession(db: Db, session: SessionImport, tree: string | null): Session {
  return db.write(() => {
    const made = db.query<SessionRow>(`${selectSessions} where s.id = ?`).get(session.id);
    if (made) return toSession(made);
    const known = tree === null ? null : db.query<{ n: number }>("select n from trees where id = ?").get(tree);
    const n = known?.n ?? makeTree(db, tree ?? Bun.randomUUIDv7());
    const { id, ...rest } = session;
    const isPurged = db.query("select 1 from sessions where id = ?").get(id) !== null;
    return insertSession(db, n, null, session.createdAt, isPurged ? rest : session);
  });
}

function makeTree(db: Db, id: string): number {
  return Number(db.query("insert into trees (id, created_at) values (?, ?)").run(id, Date.now()).lastInsertRowid);
}

/** The session that an earlier import of the same conversation made. */
export function importedSession(db: Db, agent: string, nativeId: string): Session | null {
  const row = db
    .query<SessionRow>(
      `${selectSessions} where s.source is not null and json_extract(s.source, '$.nativeId') = ? and json_extract(s.source, '$.agent') = ?
       order by s.n limit 1`,
    )
    .get(nativeId, agent);
  return row && toSession(row);
}

/** Which of the ids are stored, and in which tree the first of them lies. */
export function storedNodes(db: Db, ids: string[]): { known: Set<string>; tree: string | null } {
  const known = new Set<string>();
  let tree: number | null = null;
  const find = db.query<{ id: string; n: number }>("select id, n from nodes where id in (select value from json_each(?))");
  for (let at = 0; at < ids.length; at += 500) {
    for (const row of find.all(JSON.stringify(ids.slice(at, at + 500)))) {
      known.add(row.id);
      tree ??= treeOf(row.n);
    }
  }
  const row = tree === null ? null : db.query<{ id: string }>("select id from trees where n = ?").get(tree);
  return { known, tree: row?.id ?? null };
}

/** One transaction. The session's tip stays where it is. */
export function importNodes(db: Db, lease: Lease, batch: ImportBatch): number {
  return db.write(() => {
    const ground = requireLease(db, lease);
    const turns = new Map(batch.turns.map((turn) => [turn.id, turn]));
    const begun = new Map<string, number>();
    let added = 0;
    for (const node of batch.nodes) {
      if (placeOf(db, node.id) !== null) continue;
      const turn = node.turn === null ? undefined : turns.get(node.turn);
      if (turn !== undefined && !begun.has(turn.id)) begun.set(turn.id, beginTurn(db, ground, turn, batch.source));
      addImported(db, ground, node, turn === undefined ? null : begun.get(turn.id)!);
      if (turn !== undefined && batch.endings.has(node.id))
        tell(db, ground, "turn.ended", begun.get(turn.id)!, null, turn.endedAt ?? node.at);
      added += 1;
    }
    db.query("update sessions set seq = ?, updated_at = ? where n = ?").run(ground.seq, Date.now(), ground.n);
    return added;
  });
}

function beginTurn(db: Db, target: WriteTarget, turn: ImportedTurn, source: ImportBatch["source"]): number {
  const known = db.query<{ n: number; session: number }>("select n, session from turns where id = ?").get(turn.id);
  if (known && known.session === target.n) {
    db.query(
      "update turns set ended_at = max(?, started_at), status = ?, model = coalesce(?, model) where n = ? and ended_at is not null",
    ).run(turn.endedAt, turn.status, turn.model, known.n);
    return known.n;
  }
  const { lastInsertRowid } = db
    .query(
      `insert into turns (id, session, parent, agent, model, role, native_id, policy, enforced, started_at, ended_at, status, error, source)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      known ? Bun.randomUUIDv7() : turn.id,
      target.n,
      turn.parent === null ? null : placeOf(db, turn.parent),
      turn.agent,
      turn.model,
      turn.role ?? null,
      turn.nativeId,
      JSON.stringify(turn.policy),
      turn.enforced === null ? null : JSON.stringify(turn.enforced),
      turn.startedAt,
      Math.max(turn.startedAt, turn.endedAt ?? turn.startedAt),
      turn.status ?? "killed",
      turn.error === null ? null : JSON.stringify(turn.error),
      JSON.stringify(source),
    );
  const n = Number(lastInsertRowid);
  tell(db, target, "turn.started", n, null, turn.startedAt);
  return n;
}

function addImported(db: Db, target: WriteTarget, node: ImportedNode, turn: number | null): void {
  const { id, parent, at, session: _session, turn: _turn, outputs: _outputs, ...body } = node;
  const above = parent === null ? null : placeOf(db, parent);
  if (parent !== null && (above === null || treeOf(above) !== target.tree)) {
    throw new Fault("node-unknown", `Node ${id} goes on from ${parent}, which is not in this tree.`);
  }
  const n = takeNodeNumber(db, target);
  db.query(`insert into nodes (${nodeColumns}) values (?, ?, ?, ?, ?, ?, ?)`).run(n, above, target.n, turn, at, id, JSON.stringify(body));
  tell(db, target, "node.added", turn, n, at);
  if (turn !== null) addToTurn(db, turn, n, node);
}

function tell(
  db: Db,
  target: WriteTarget,
  kind: "turn.started" | "node.added" | "turn.ended",
  turn: number | null,
  node: number | null,
  at: number,
): void {
  target.seq += 1;
  recordEvent(db, { session: target.n, seq: target.seq, kind, turn, node, at });
}

function placeOf(db: Db, id: string): number | null {
  return db.query<{ n: number }>("select n from nodes where id = ?").get(id)?.n ?? null;
}

/** A whole output under the name that nodes know it by; false when the name is another session's or taken. */
export function importOutput(db: Db, files: OutputFiles, lease: Lease, handle: Handle, call: string, bytes: Uint8Array): boolean {
  const [, session, number] = /^([^/]+)\/([1-9]\d{0,8})$/.exec(handle.identifier) ?? [];
  if (session !== lease.session || number === undefined) return false;
  const n = Number(number);
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  return db.write(() => {
    const ground = requireLease(db, lease);
    if (db.query("select 1 from handles where session = ? and n = ?").get(ground.n, n)) return false;
    const fd = files.create(handle.identifier);
    try {
      for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done);
    } finally {
      files.leave(handle.identifier, fd);
    }
    const now = Date.now();
    const whole = Math.max(bytes.length, handle.metadata.bytes ?? 0);
    db.query(
      `insert into handles (session, n, call, source, opened_at, closed_at, bytes, kept_bytes, head_bytes, sha256, metadata)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(ground.n, n, call, handle.source, now, now, whole, bytes.length, bytes.length, sha256, JSON.stringify(handle.metadata));
    db.query("update sessions set outputs = max(outputs, ?) where n = ?").run(n, ground.n);
    return true;
  });
}
