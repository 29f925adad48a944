// Reads nodes: by id or tail, the path from the root, the children, a whole tree or session.
import { Fault } from "../../../protocol/api/error.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import type { Db } from "../db.ts";
import { nodesPerTree } from "../migrations.ts";
import { type NodeRow, nodeColumns, toNodes, treeOf } from "../rows/node-row.ts";
import { sessionRow } from "../rows/session-row.ts";
import { sql } from "../sql.ts";
import { endsWithTail, isTail } from "./sessions.ts";

const selectNodes = sql`select ${nodeColumns} from nodes c`;

export function node(db: Db, id: string): Node | null {
  return toNodes(db, db.values<NodeRow>`${selectNodes} where c.id = ${id}`)[0] ?? null;
}

export function findNode(db: Db, idOrTail: string): Node {
  const tail = idOrTail.toLowerCase();
  const exact = node(db, tail);
  if (exact) return exact;
  const matches = isTail(tail) ? db.values<NodeRow>`${selectNodes} where ${endsWithTail("c.id", tail)} limit 20` : [];
  if (matches.length === 1) return toNodes(db, matches)[0]!;
  if (matches.length === 0)
    throw new Fault("node-unknown", `there is no node "${idOrTail}"`, { hint: "`skein show` lists the nodes of a session" });
  throw new Fault("node-unknown", `"${idOrTail}" matches ${matches.length} nodes: ${matches.map((row) => row[5]).join(", ")}`, {
    hint: "give more characters from the end of the id",
  });
}

export function path(db: Db, id: string | null): Node[] {
  return toNodes(db, pathRows(db, id));
}

/**
 * The nodes of a tree have adjacent row numbers, so a path is read in a few range queries.
 * If many rows of a range belong to other branches, the rest is read parent by parent.
 */
export function pathRows(db: Db, id: string | null): NodeRow[] {
  if (id === null) return [];
  const [tip] = db.values<NodeRow>`${selectNodes} where c.id = ${id}`;
  if (!tip) throw new Fault("node-unknown", `there is no node ${id}`);
  const rows = [tip];
  const lowest = treeOf(tip[0]) * nodesPerTree;
  let next = tip[1];
  for (let size = 64; next !== null; size = Math.min(size * 4, 4096)) {
    const range = db.values<NodeRow>`${selectNodes} where c.n <= ${next} and c.n > ${lowest} order by c.n desc limit ${size}`;
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
  return rows.toReversed();
}

export function sessionPath(db: Db, session: string): Node[] {
  return path(db, sessionRow(db, session).tip_id);
}

/** Reads node by node from the tip: a long session has few nodes after its last answer. */
export function sessionPathEnd(db: Db, session: string): Node[] {
  const nodes: Node[] = [];
  for (let id = sessionRow(db, session).tip_id; id !== null; id = nodes[0]!.parent) {
    const next = node(db, id);
    if (next === null) throw pathBroken();
    nodes.unshift(next);
    if (next.author === "agent") break;
  }
  return nodes;
}

function ancestors(db: Db, from: number): NodeRow[] {
  const rows = db.values<NodeRow>`
    with recursive path (n, parent, session, turn, at, id, body) as (
      ${selectNodes} where c.n = ${from} union all select ${nodeColumns} from path join nodes c on c.n = path.parent and c.n < path.n
    ) select * from path`;
  if (rows.at(-1)?.[1] === null) return rows;
  throw pathBroken();
}

function pathBroken(): Fault {
  return new Fault("store-broken", "the path of a node ends before its root", { hint: "`skein verify` lists the damage" });
}

export function children(db: Db, id: string): Node[] {
  return toNodes(db, db.values<NodeRow>`${selectNodes} where c.parent = (select n from nodes where id = ${id}) order by c.n`);
}

export function treeNodes(db: Db, tree: string): Node[] {
  const row = db.row<{ n: number }>`select n from trees where id = ${tree}`;
  if (!row) return [];
  const [first, last] = [row.n * nodesPerTree, (row.n + 1) * nodesPerTree];
  return toNodes(db, db.values<NodeRow>`${selectNodes} where c.n > ${first} and c.n < ${last} order by c.n`);
}

export function sessionNodes(db: Db, session: string, afterSeq = 0): Node[] {
  const rows = db.values<NodeRow>`
    select ${nodeColumns} from events e join nodes c on c.n = e.node
    where e.session = ${sessionRow(db, session).n} and e.seq > ${afterSeq} order by e.seq`;
  return toNodes(db, rows);
}

export function sessionNodesFrom(db: Db, session: string, node: string): Node[] {
  const { n } = sessionRow(db, session);
  const event = db.row<{ seq: number }>`
    select seq from events where session = ${n} and node = (select n from nodes where id = ${node}) order by seq desc limit 1`;
  return sessionNodes(db, session, event === null ? 0 : event.seq - 1);
}
