// Reads nodes: one, by tail, the path to the root, the children, a whole tree or session.
import { Fault } from "../../../protocol/api/error.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import type { Db } from "../db.ts";
import { nodesPerTree } from "../migrations.ts";
import { joinedNodeColumns, type NodeRow, nodeColumns, toNodes, treeOf } from "../rows/node-row.ts";
import { sessionRow } from "../rows/session-row.ts";
import { isTail } from "./sessions.ts";

const select = `select ${nodeColumns} from nodes`;

export function node(db: Db, id: string): Node | null {
  return toNodes(db, values(db, `${select} where id = ?`, id))[0] ?? null;
}

export function findNode(db: Db, idOrTail: string): Node {
  const tail = idOrTail.toLowerCase();
  const exact = node(db, tail);
  if (exact) return exact;
  const matches = isTail(tail)
    ? values(db, `${select} where substr(id, -4) = ? and substr(id, -length(?2)) = ?2 limit 20`, tail.slice(-4), tail)
    : [];
  if (matches.length === 1) return toNodes(db, matches)[0]!;
  if (matches.length === 0)
    throw new Fault("node-unknown", `There is no node "${idOrTail}".`, { hint: "`skein show` lists the nodes of a session." });
  throw new Fault("node-unknown", `"${idOrTail}" matches ${matches.length} nodes: ${matches.map((row) => row[5]).join(", ")}.`, {
    hint: "Give more characters from the end of the id.",
  });
}

/**
 * The nodes of a tree have adjacent row numbers, so a path is read in a few range queries.
 * If many rows of a range belong to other branches, the rest is read parent by parent.
 */
export function path(db: Db, id: string): Node[] {
  const [tip] = values(db, `${select} where id = ?`, id);
  if (!tip) throw new Fault("node-unknown", `There is no node ${id}.`);
  const rows = [tip];
  const lowest = treeOf(tip[0]) * nodesPerTree;
  let next = tip[1];
  for (let size = 64; next !== null; size = Math.min(size * 4, 4096)) {
    const range = values(db, `${select} where n <= ? and n > ? order by n desc limit ?`, next, lowest, size);
    const previousLength = rows.length;
    for (const row of range) {
      if (row[0] !== next) continue;
      rows.push(row);
      next = row[1];
      if (next === null) break;
    }
    if (next !== null && rows.length - previousLength <= range.length / 3) {
      rows.push(...ancestors(db, next));
      break;
    }
  }
  return toNodes(db, rows.toReversed());
}

function ancestors(db: Db, from: number): NodeRow[] {
  const sql = `with recursive path (${nodeColumns}) as (
    ${select} where n = ? union all select ${joinedNodeColumns} from path join nodes c on c.n = path.parent and c.n < path.n
  ) select ${nodeColumns} from path`;
  const rows = values(db, sql, from);
  if (rows.at(-1)?.[1] === null) return rows;
  throw new Fault("store-broken", "The path of a node ends before its root.", { hint: "`skein verify` lists the damage." });
}

export function children(db: Db, id: string): Node[] {
  return toNodes(db, values(db, `${select} where parent = (select n from nodes where id = ?) order by n`, id));
}

export function treeNodes(db: Db, tree: string): Node[] {
  const row = db.query<{ n: number }>("select n from trees where id = ?").get(tree);
  if (!row) return [];
  return toNodes(db, values(db, `${select} where n > ? and n < ? order by n`, row.n * nodesPerTree, (row.n + 1) * nodesPerTree));
}

export function sessionNodes(db: Db, session: string): Node[] {
  const sql = `select ${joinedNodeColumns} from events e join nodes c on c.n = e.node where e.session = ? order by e.seq`;
  return toNodes(db, values(db, sql, sessionRow(db, session).n));
}

function values(db: Db, sql: string, ...params: (string | number)[]): NodeRow[] {
  return db.query(sql).values(...params) as NodeRow[];
}
