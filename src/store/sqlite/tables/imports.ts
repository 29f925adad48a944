// Adds imported sessions, turns and nodes with their own ids and times. A node may be anywhere in its tree.
// Every write checks the lease. Rows that are stored already are not changed, except the end of an imported turn.
import { writeSync } from "node:fs";
import { Fault } from "../../../protocol/api/error.ts";
import type { ImportedNode, ImportedTurn } from "../../../protocol/tree/import.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { ImportBatch, ImportedOutput, Lease, SessionImport } from "../../store.ts";
import type { Db } from "../db.ts";
import { requireLease, type WriteTarget } from "../lease.ts";
import type { OutputFiles } from "../outputs/output-files.ts";
import { idOf, treeOf } from "../rows/node-row.ts";
import { selectSessions, type SessionRow, toSession } from "../rows/session-row.ts";
import { indexSome } from "../search/search.ts";
import { createTree, insertSession, session } from "./sessions.ts";
import { addToTurn, insertNode, insertTurn, recordEvent, saveSeq, takeNodeNumber } from "./write-turn.ts";

/** Adds the session to `tree`, or to a new tree if there is none. Returns the stored session if that id exists already. */
export function importSession(db: Db, imported: SessionImport, tree: string | null): Promise<Session> {
  return db.write(() => {
    const stored = session(db, imported.id);
    if (stored) return stored;
    const existing = db.row<{ n: number }>`select n from trees where id = ${tree}`;
    const position = { tree: existing?.n ?? createTree(db, tree ?? Bun.randomUUIDv7(), Date.now()), tip: null, at: imported.createdAt };
    const isPurged = db.row`select 1 from sessions where id = ${imported.id}` !== null;
    return insertSession(db, position, isPurged ? { ...imported, id: undefined } : imported);
  });
}

/** The session that an earlier import of the same conversation created. */
export function importedSession(db: Db, agent: string, nativeId: string): Session | null {
  const row = db.row<SessionRow>`
    ${selectSessions} where s.source is not null and json_extract(s.source, '$.nativeId') = ${nativeId}
      and json_extract(s.source, '$.agent') = ${agent} order by s.n limit 1`;
  return row && toSession(row);
}

/** The ids that are stored already, and the tree of the first of them. */
export function storedNodes(db: Db, ids: string[]): { stored: Set<string>; tree: string | null } {
  const rows = db.rows<{
    id: string;
    n: number;
  }>`select id, n from nodes where id in (select value from json_each(${JSON.stringify(ids)}))`;
  const [first] = rows;
  return { stored: new Set(rows.map(({ id }) => id)), tree: first === undefined ? null : idOf(db, "trees", treeOf(first.n)) };
}

/** Adds the nodes that are missing, in one transaction. Returns their number. The session's tip stays where it is. */
export async function importNodes(db: Db, lease: Lease, batch: ImportBatch): Promise<number> {
  const added = await db.write(() => {
    const target = requireLease(db, lease);
    const turns = new Map(batch.turns.map((turn) => [turn.id, turn]));
    const turnNumbers = new Map<string, number>();
    let count = 0;
    for (const node of batch.nodes) {
      if (nodeNumber(db, node.id) !== null) continue;
      count += 1;
      const turn = turns.get(node.turn ?? "");
      const n = turn === undefined ? null : (turnNumbers.get(turn.id) ?? insertOrUpdateTurn(db, target, turn, batch.source));
      insertImportedNode(db, target, node, n);
      if (turn === undefined || n === null) continue;
      turnNumbers.set(turn.id, n);
      if (batch.lastNodesOfTurns.has(node.id)) recordEvent(db, target, { kind: "turn.ended", turn: n, at: turn.endedAt ?? node.at });
    }
    saveSeq(db, target, Date.now());
    return count;
  });
  db.defer(`index ${lease.session}`, () => indexSome(db, lease.session));
  return added;
}

/** Returns the row number of the turn. A turn of an earlier import gets its new end. If another session has the id, a new id is used. */
function insertOrUpdateTurn(db: Db, target: WriteTarget, turn: ImportedTurn, source: ImportBatch["source"]): number {
  const existing = db.row<{ n: number; session: number }>`select n, session from turns where id = ${turn.id}`;
  if (existing && existing.session === target.n) {
    db.run`
      update turns set ended_at = max(${turn.endedAt}, started_at), status = ${turn.status}, model = coalesce(${turn.model}, model)
      where n = ${existing.n} and ended_at is not null`;
    return existing.n;
  }
  const parent = turn.parent === null ? null : nodeNumber(db, turn.parent);
  const id = existing ? Bun.randomUUIDv7() : turn.id;
  const endedAt = Math.max(turn.startedAt, turn.endedAt ?? turn.startedAt);
  const fields = { ...turn, id, endedAt, status: turn.status ?? ("killed" as const), source };
  const n = insertTurn(db, { session: target.n, parent, budget: null }, fields);
  recordEvent(db, target, { kind: "turn.started", turn: n, at: turn.startedAt });
  return n;
}

function insertImportedNode(db: Db, target: WriteTarget, node: ImportedNode, turn: number | null): void {
  const { id, parent, at, session: _session, turn: _turn, outputs: _outputs, ...body } = node;
  const parentNumber = parent === null ? null : nodeNumber(db, parent);
  if (parent !== null && (parentNumber === null || treeOf(parentNumber) !== target.tree)) {
    throw new Fault("node-unknown", `node ${id} continues from ${parent}, which is not in this tree`);
  }
  const n = takeNodeNumber(db, target);
  insertNode(db, { n, parent: parentNumber, session: target.n, turn, at, id, body: JSON.stringify(body) });
  recordEvent(db, target, { kind: "node.added", turn, node: n, at });
  if (turn !== null) addToTurn(db, turn, n, node);
}

function nodeNumber(db: Db, id: string): number | null {
  return db.row<{ n: number }>`select n from nodes where id = ${id}`?.n ?? null;
}

/** Stores an output under the identifier that its nodes use. False if the identifier is another session's or in use. */
export async function importOutput(db: Db, files: OutputFiles, lease: Lease, output: ImportedOutput): Promise<boolean> {
  const { handle, call, bytes } = output;
  const [, session, number] = /^([^/]+)\/([1-9]\d{0,8})$/.exec(handle.identifier) ?? [];
  if (session !== lease.session || number === undefined) return false;
  const n = Number(number);
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  return db.write(() => {
    const target = requireLease(db, lease);
    if (db.row`select 1 from handles where session = ${target.n} and n = ${n}`) return false;
    const fd = files.create(handle.identifier);
    try {
      for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
    } finally {
      files.release(handle.identifier, fd);
    }
    const now = Date.now();
    const totalBytes = Math.max(bytes.length, handle.metadata.bytes ?? 0);
    db.run`
      insert into handles (session, n, call, source, opened_at, closed_at, bytes, kept_bytes, head_bytes, sha256, metadata)
      values (${target.n}, ${n}, ${call}, ${handle.source}, ${now}, ${now}, ${totalBytes}, ${bytes.length}, ${bytes.length}, ${sha256},
        ${JSON.stringify(handle.metadata)})`;
    db.run`update sessions set outputs = max(outputs, ${n}) where n = ${target.n}`;
    return true;
  });
}
