// Adds imported turns and nodes to Postgres with their own ids and times, and whole outputs under their own identifiers.
import type { ImportedNode, ImportedTurn } from "../../../protocol/tree/import.ts";
import { sql } from "../../sqlite/sql.ts";
import type { ImportBatch, ImportedOutput, Lease } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { splitColumns } from "./turn-row.ts";
import { listed } from "./turns.ts";
import { packedJson, spentOf } from "./write-turn.ts";

/** The ids that are stored already, and the tree of the first of them. */
export async function storedNodes(db: PgDb, ids: string[]): Promise<{ stored: Set<string>; tree: string | null }> {
  const rows = await db.rows<{ id: string; tree: string }>(sql`
    select c.id, t.id as tree from skein.nodes c join skein.trees t on t.n = c.n / 268435456 where c.id in (${listed(ids)})`);
  return { stored: new Set(rows.map(({ id }) => id)), tree: rows[0]?.tree ?? null };
}

/** Adds the nodes that are missing, in one transaction. Returns their number. The session's tip stays where it is. */
export function importNodes(db: PgDb, lease: Lease, batch: ImportBatch): Promise<number> {
  const turns = new Map(batch.turns.map((turn) => [turn.id, turn]));
  const turnRows = Object.fromEntries(batch.turns.map((turn) => [turn.id, turnRow(turn, batch)]));
  const nodes = batch.nodes.map((node) => nodeRow(node, turns.get(node.turn ?? ""), batch.lastNodesOfTurns.has(node.id)));
  return db.call<number>("import_nodes", lease.session, lease.epoch, packedJson(turnRows), packedJson(nodes));
}

/** `fresh` is the id of the turn if another session has its own. */
function turnRow(turn: ImportedTurn, { source }: ImportBatch) {
  const { own, rest } = splitColumns({ ...turn, source });
  const { id, parent, startedAt, endedAt, status } = turn;
  return { ...own, id, parent, startedAt, endedAt: endedAt ?? startedAt, status, fields: rest, fresh: Bun.randomUUIDv7() };
}

function nodeRow(imported: ImportedNode, turn: ImportedTurn | undefined, endsTurn: boolean) {
  const { id, parent, at, session: _session, turn: _turn, outputs: _outputs, ...body } = imported;
  const endsTurnAt = endsTurn && turn !== undefined ? (turn.endedAt ?? at) : null;
  return { id, parent, turn: turn?.id ?? "", at, author: body.author, spent: spentOf(body), endsTurnAt, body: JSON.stringify(body) };
}

/** Stores an output under the identifier that its nodes use. False if the identifier is another session's or in use. */
export async function importOutput(db: PgDb, lease: Lease, { handle, call, bytes }: ImportedOutput): Promise<boolean> {
  const [, session, number] = /^([^/]+)\/([1-9]\d{0,8})$/.exec(handle.identifier) ?? [];
  if (session !== lease.session || number === undefined) return false;
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  const totalBytes = Math.max(bytes.length, handle.metadata.bytes ?? 0);
  const row = { call, source: handle.source, bytes: totalBytes, sha256, metadata: JSON.stringify(handle.metadata) };
  return db.call<boolean>("import_handle", lease.session, lease.epoch, Number(number), packedJson(row), bytes);
}
