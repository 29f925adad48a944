// The stored form of a node, read as arrays because one path can have ten thousand of them.
// Reads only the ids that the rows point at.
import { Fault } from "../../../protocol/api/error.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import type { Db } from "../db.ts";
import { nodesPerTree } from "../migrations.ts";
import { Sql, sql } from "../sql.ts";

/** The columns of a NodeRow, from the table `nodes` under the alias `c`. */
export const nodeColumns = sql`c.n, c.parent, c.session, c.turn, c.at, c.id, c.body`;

export type NodeRow = [n: number, parent: number | null, session: number, turn: number | null, at: number, id: string, body: string];

type IdTable = "trees" | "sessions" | "turns" | "nodes";

/** The id of row `n`. Throws if there is no such row. */
export function idOf(db: Db, table: IdTable, n: number): string {
  const row = db.row<{ id: string }>`select id from ${new Sql(table)} where n = ${n}`;
  if (row) return row.id;
  throw new Fault("store-broken", `row ${n} of table ${table} is missing in the store`, { hint: "`skein verify` lists the damage" });
}

export function toNodes(db: Db, rows: NodeRow[]): Node[] {
  const ids: Record<IdTable, Map<number, string>> = {
    trees: new Map(),
    sessions: new Map(),
    turns: turnIds(db, rows),
    nodes: new Map(),
  };
  const cachedId = (table: IdTable, n: number): string => {
    let id = ids[table].get(n);
    if (id === undefined) ids[table].set(n, (id = idOf(db, table, n)));
    return id;
  };
  // Parents precede their children, so the id of a parent is already in `ids` unless it has no row here.
  return rows.map(([n, parent, session, turn, at, id, body]) => {
    const node = JSON.parse(body) as Node;
    ids.nodes.set(n, id);
    node.id = id;
    node.parent = parent === null ? null : cachedId("nodes", parent);
    node.tree = cachedId("trees", treeOf(n));
    node.session = cachedId("sessions", session);
    node.turn = turn === null ? null : cachedId("turns", turn);
    node.at = at;
    return node;
  });
}

/** Uses one query for all turns. One query per turn would add a tenth to the time of reading a long path. */
function turnIds(db: Db, rows: NodeRow[]): Map<number, string> {
  const turns = JSON.stringify([...new Set(rows.map((row) => row[3]))]);
  return new Map(db.values<[number, string]>`select n, id from turns where n in (select value from json_each(${turns}))`);
}

export function treeOf(n: number): number {
  return Math.floor(n / nodesPerTree);
}
