// Nodes: added below a session's tip and never changed again, and the ways to read them back.
import { Fault } from "../../../protocol/api/error.ts";
import type { DurableEvent } from "../../../protocol/tree/event.ts";
import { taskOf, type NewNode, type Node } from "../../../protocol/tree/node.ts";
import type { Db } from "../db.ts";
import { toEvent, recordEvent } from "./events.ts";
import { type WriteTarget, requireLease } from "../lease.ts";
import { nodesPerTree } from "../migrations.ts";
import { IdLookup, type NodeRow, nodeColumns, sessionRow, toNodes, treeOf } from "../rows.ts";
import { isTail } from "./sessions.ts";
import type { Lease, WriteResult } from "../../store.ts";

export function appendNode(db: Db, lease: Lease, turn: string | null, node: NewNode): WriteResult<Node> {
  return db.write(() => {
    const ground = requireLease(db, lease);
    const taking = turn === null ? null : openTurn(db, ground, turn);
    const { value, event } = addNode(db, lease.session, ground, taking, node);
    return { value, events: [event] };
  });
}

export type OpenTurn = { n: number; id: string };

/** The turn a write belongs to: of this session, and not ended. */
export function openTurn(db: Db, target: WriteTarget, turn: string): OpenTurn {
  const row = db
    .query<{ n: number; session: number; ended_at: number | null }>("select n, session, ended_at from turns where id = ?")
    .get(turn);
  if (row && row.session === target.n && row.ended_at === null) return { n: row.n, id: turn };
  throw new Fault("internal", row ? `Turn ${turn} has ended or belongs to another session.` : `There is no turn ${turn}.`);
}

/** Adds a node inside a transaction, and moves `ground` with it. */
export function addNode(
  db: Db,
  session: string,
  target: WriteTarget,
  turn: OpenTurn | null,
  node: NewNode,
): { value: Node; event: DurableEvent } {
  const at = Date.now();
  const id = Bun.randomUUIDv7();
  const names = new IdLookup(db);
  const parent = target.tip;
  const n = takeNodeNumber(db, target);
  const seq = target.seq + 1;
  db.query(`insert into nodes (${nodeColumns}) values (?, ?, ?, ?, ?, ?, ?)`).run(
    n,
    parent,
    target.n,
    turn?.n ?? null,
    at,
    id,
    JSON.stringify(node),
  );
  db.query("update sessions set tip = ?, seq = ?, updated_at = ? where n = ?").run(n, seq, at, target.n);
  if (parent === null) db.query("update sessions set task = coalesce(task, ?) where n = ?").run(taskOf(node), target.n);
  recordEvent(db, { session: target.n, seq, kind: "node.added", turn: turn?.n ?? null, node: n, at });
  if (turn) {
    addToTurn(db, turn.n, n, node);
    dropDrafts(db, turn.n, node);
  }
  target.tip = n;
  target.seq = seq;
  const value: Node = {
    ...node,
    id,
    parent: parent === null ? null : names.of("nodes", parent),
    tree: names.of("trees", target.tree),
    session,
    turn: turn?.id ?? null,
    at,
  };
  return { value, event: toEvent(seq, session, turn?.id ?? null, at, { type: "node.added", node: value }) };
}

/** The number of the next node. `stale` is written only when it changes: every write of it costs a page of its index. */
export function takeNodeNumber(db: Db, target: WriteTarget): number {
  target.last += 1;
  if (target.stale) db.query("update trees set last = ? where n = ?").run(target.last, target.tree);
  else db.query("update trees set last = ?, stale = 1 where n = ?").run(target.last, target.tree);
  target.stale = 1;
  return target.tree * nodesPerTree + target.last;
}

export function addToTurn(db: Db, turn: number, tip: number, node: NewNode): void {
  const usage = node.usage;
  if (!usage) {
    db.query("update turns set tip = ? where n = ?").run(tip, turn);
    return;
  }
  const used = usage.input + usage.output + usage.cacheRead + usage.cacheWrite > 0;
  const cost = node.costUsd ?? null;
  db.query(
    `update turns set tip = ?, input = input + ?, output = output + ?, cache_read = cache_read + ?, cache_write = cache_write + ?,
     cost_usd = cost_usd + ?, unpriced = unpriced + ?, steps = steps + 1 where n = ?`,
  ).run(tip, usage.input, usage.output, usage.cacheRead, usage.cacheWrite, cost ?? 0, cost === null && used ? 1 : 0, turn);
}

function dropDrafts(db: Db, turn: number, node: NewNode): void {
  const drop = db.query("delete from drafts where turn = ? and key = ?");
  if (node.author === "agent") {
    drop.run(turn, "text");
    drop.run(turn, "thinking");
  }
  for (const part of node.parts) if (part.kind === "result") drop.run(turn, part.call);
}

// --- reading --------------------------------------------------------------------------------------------

const select = `select ${nodeColumns} from nodes`;

export function node(db: Db, id: string): Node | null {
  return toNodes(db, values(db, `${select} where id = ?`, id))[0] ?? null;
}

export function findNode(db: Db, wanted: string): Node {
  const tail = wanted.toLowerCase();
  const exact = node(db, tail);
  if (exact) return exact;
  const found = isTail(tail)
    ? values(db, `${select} where substr(id, -4) = ? and substr(id, -length(?2)) = ?2 limit 20`, tail.slice(-4), tail)
    : [];
  if (found.length === 1) return toNodes(db, found)[0]!;
  if (found.length === 0)
    throw new Fault("node-unknown", `There is no node "${wanted}".`, { hint: "`skein show` lists those of a session" });
  throw new Fault("node-unknown", `"${wanted}" can mean ${found.length} nodes: ${found.map((row) => row[5]).join(", ")}.`, {
    hint: "Give more of the id, from its end.",
  });
}

/** A tree lies together, so a path without many branches beside it is read in a few sweeps, else link by link. */
export function path(db: Db, id: string): Node[] {
  const [tip] = values(db, `${select} where id = ?`, id);
  if (!tip) throw new Fault("node-unknown", `There is no node ${id}.`);
  const rows = [tip];
  const floor = treeOf(tip[0]) * nodesPerTree;
  let wanted = tip[1];
  for (let size = 64; wanted !== null; size = Math.min(size * 4, 4096)) {
    const sweep = values(db, `${select} where n <= ? and n > ? order by n desc limit ?`, wanted, floor, size);
    const before = rows.length;
    for (const row of sweep) {
      if (row[0] !== wanted) continue;
      rows.push(row);
      wanted = row[1];
      if (wanted === null) break;
    }
    if (wanted !== null && rows.length - before <= sweep.length / 3) {
      rows.push(...chain(db, wanted));
      break;
    }
  }
  return toNodes(db, rows.toReversed());
}

function chain(db: Db, from: number): NodeRow[] {
  const columns = nodeColumns.replaceAll(/\w+/g, "c.$&");
  const sql = `with recursive path (${nodeColumns}) as (
    ${select} where n = ? union all select ${columns} from path join nodes c on c.n = path.parent and c.n < path.n
  ) select ${nodeColumns} from path`;
  const rows = values(db, sql, from);
  if (rows.at(-1)?.[1] === null) return rows;
  throw new Fault("store-broken", `The path of a node breaks off before its root.`, { hint: "`skein verify` lists what is damaged." });
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
  const columns = nodeColumns.replaceAll(/\w+/g, "c.$&");
  const sql = `select ${columns} from events e join nodes c on c.n = e.node where e.session = ? order by e.seq`;
  return toNodes(db, values(db, sql, sessionRow(db, session).n));
}

function values(db: Db, sql: string, ...params: (string | number)[]): NodeRow[] {
  return db.query(sql).values(...params) as NodeRow[];
}
