// The stored form of a node, read as arrays because one path can have ten thousand of them.
// Reads nothing but the ids that the rows point at.
import { Fault } from "../../../protocol/api/error.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import type { Db } from "../db.ts";
import { nodesPerTree } from "../migrations.ts";

export const nodeColumns = "n, parent, session, turn, at, id, body";

/** `nodeColumns` of the table `nodes` under the alias `c`, for joins. */
export const joinedNodeColumns = nodeColumns.replaceAll(/\w+/g, "c.$&");

export type NodeRow = [n: number, parent: number | null, session: number, turn: number | null, at: number, id: string, body: string];

/** Finds the ids behind the row numbers of node rows. Caches them for one read. */
export class IdLookup {
  readonly #db: Db;
  readonly #cache = {
    trees: new Map<number, string>(),
    sessions: new Map<number, string>(),
    turns: new Map<number, string>(),
    nodes: new Map<number, string>(),
  };

  constructor(db: Db) {
    this.#db = db;
  }

  /** Loads the turn ids of many rows at once: one by one they take a tenth of the time of a long path. */
  loadTurns(rows: NodeRow[]): void {
    const turns = new Set(rows.map((row) => row[3]).filter((turn) => turn !== null));
    const ids = this.#db.query("select n, id from turns where n in (select value from json_each(?))").values(JSON.stringify([...turns]));
    for (const [n, id] of ids as [number, string][]) this.#cache.turns.set(n, id);
  }

  idOf(table: "trees" | "sessions" | "turns" | "nodes", n: number): string {
    const cached = this.#cache[table].get(n);
    if (cached !== undefined) return cached;
    const row = this.#db.query<{ id: string }>(`select id from ${table} where n = ?`).get(n);
    if (!row) {
      throw new Fault("store-broken", `Row ${n} of table ${table} is missing in the store.`, { hint: "`skein verify` lists the damage." });
    }
    this.#cache[table].set(n, row.id);
    return row.id;
  }
}

export function toNodes(db: Db, rows: NodeRow[]): Node[] {
  const lookup = new IdLookup(db);
  if (rows.length > 100) lookup.loadTurns(rows);
  const ids = idsOf(rows);
  let tree = -1;
  let treeId = "";
  let session = -1;
  let sessionId = "";
  return rows.map((row, index) => {
    const [n, parent, writer, turn, at, id, body] = row;
    if (treeOf(n) !== tree) {
      tree = treeOf(n);
      treeId = lookup.idOf("trees", tree);
    }
    if (writer !== session) {
      session = writer;
      sessionId = lookup.idOf("sessions", session);
    }
    const previous = rows[index - 1];
    const node = JSON.parse(body) as Node;
    node.id = id;
    node.parent = parent === null ? null : previous?.[0] === parent ? previous[5] : (ids().get(parent) ?? lookup.idOf("nodes", parent));
    node.tree = treeId;
    node.session = sessionId;
    node.turn = turn === null ? null : lookup.idOf("turns", turn);
    node.at = at;
    return node;
  });
}

function idsOf(rows: NodeRow[]): () => Map<number, string> {
  let ids: Map<number, string> | null = null;
  return () => (ids ??= new Map(rows.map((row) => [row[0], row[5]])));
}

export function treeOf(n: number): number {
  return Math.floor(n / nodesPerTree);
}
