// Which nodes of hidden sessions nobody needs, and how they go: the youngest first, a few in each transaction, each
// looked at again there, because a fork or a move may have come to it meanwhile.
import type { Db } from "../db.ts";
import { nodesPerTree } from "../migrations.ts";

export type TreePurgePlan = {
  /** The nodes to go, youngest first. */
  nodes: number[];
  bytes: number;
  /** How many nodes those sessions have in this tree. */
  written: number;
  /** By session: how many of its turns have a node that stays. */
  keptTurns: Map<number, number>;
};

type Row = [n: number, parent: number | null, session: number, turn: number | null, bytes: number];

/** A node stays when another session wrote it, stands on it, came from it or has a turn that began there, or when it is above such a node. */
export function planTreePurge(db: Db, tree: number, going: ReadonlySet<number>): TreePurgePlan {
  const plan: TreePurgePlan = { nodes: [], bytes: 0, written: 0, keptTurns: new Map() };
  const needed = pins(db, tree, going);
  const turns = new Map<number, Set<number>>();
  const page = db.query("select n, parent, session, turn, octet_length(body) from nodes where n > ? and n < ? order by n desc limit ?");
  for (let before = (tree + 1) * nodesPerTree; ;) {
    const rows = page.values(tree * nodesPerTree, before, 5000) as Row[];
    for (const [n, parent, session, turn, bytes] of rows) {
      const isGoing = going.has(session);
      if (isGoing) plan.written += 1;
      if (isGoing && !needed.has(n)) {
        plan.nodes.push(n);
        plan.bytes += bytes;
        continue;
      }
      if (parent !== null) needed.add(parent);
      if (isGoing && turn !== null) turns.set(session, (turns.get(session) ?? new Set<number>()).add(turn));
    }
    if (rows.length === 0) break;
    before = rows.at(-1)![0];
  }
  for (const [session, kept] of turns) plan.keptTurns.set(session, kept.size);
  return plan;
}

const batch = 100;

/** Returns how many went. */
export async function purgeNodes(db: Db, tree: number, plan: TreePurgePlan): Promise<number> {
  const child = db.query("select 1 from nodes where parent = ? limit 1");
  const unindex = db.query("insert into words (words, rowid, text) select 'delete', n, text from node_text where n = ?");
  const writer = db.query<{ session: number }>("select session from nodes where n = ?");
  const remove = db.query("delete from nodes where n = ?");
  const indexed = db.query<{ indexed: number }>("select indexed from trees where n = ?");
  let gone = 0;
  for (let at = 0; at < plan.nodes.length; at += batch) {
    gone += db.write(() => {
      const hidden = hiddenIn(db, tree);
      const kept = pins(db, tree, hidden);
      const known = tree * nodesPerTree + (indexed.get(tree)?.indexed ?? 0);
      const leaving = plan.nodes.slice(at, at + batch).filter((n) => {
        // Another purge may have been faster, and the number may be another node's by now.
        if (!hidden.has(writer.get(n)?.session ?? -1)) return false;
        if (kept.has(n) || child.get(n) !== null) return false;
        if (n <= known) unindex.run(n);
        return remove.run(n).changes > 0;
      });
      return leaving.length;
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
  return gone;
}

/** Nodes that sessions other than those point at. */
function pins(db: Db, tree: number, without: ReadonlySet<number>): Set<number> {
  const rows = db
    .query(
      `select s.n, s.tip from sessions s where s.tree = ?1 and s.tip is not null
       union all select s.n, c.n from sessions s join nodes c on c.id = s.forked_node where s.tree = ?1
       union all select s.n, t.parent from sessions s join turns t on t.session = s.n where s.tree = ?1 and t.parent is not null`,
    )
    .values(tree) as [session: number, node: number][];
  return new Set(rows.flatMap(([session, node]) => (without.has(session) ? [] : [node])));
}

function hiddenIn(db: Db, tree: number): Set<number> {
  const rows = db.query<{ n: number }>("select n from sessions where tree = ? and purged_at is not null").all(tree);
  return new Set(rows.map(({ n }) => n));
}

type RemainingNodes = { count: number; turns: Map<number, { parent: number | null; tip: number }> };

/** What is left of a hidden session's nodes, and where its turns begin and end among them. */
export function remainingNodes(db: Db, session: { n: number; tree: number }): RemainingNodes {
  const rows = db
    .query("select n, parent, turn from nodes where n > ? and n < ? and session = ? order by n")
    .values(session.tree * nodesPerTree, (session.tree + 1) * nodesPerTree, session.n) as [number, number | null, number | null][];
  const turns: RemainingNodes["turns"] = new Map();
  for (const [n, parent, turn] of rows)
    if (turn !== null) turns.set(turn, { parent: turns.has(turn) ? turns.get(turn)!.parent : parent, tip: n });
  return { count: rows.length, turns };
}

/** The outputs of these sessions that a node which stays still names, in whatever tree; read in pages. */
export async function referencedOutputs(
  db: Db,
  sessions: readonly { n: number; id: string }[],
  leaving: ReadonlySet<number>,
): Promise<Set<string>> {
  const named = new Set<string>();
  const hasOutputs = db.query("select 1 from handles where session = ? limit 1");
  const owners = new Set(sessions.filter((session) => hasOutputs.get(session.n) !== null).map((session) => session.id));
  if (owners.size === 0) return named;
  const page = db.query<{ last: number | null }>("select max(n) as last from (select n from nodes where n > ? order by n limit 5000)");
  const bodies = db.query(`select n, body from nodes where n > ? and n <= ? and instr(body, '"identifier":"') > 0`);
  for (let after = 0; ;) {
    const { last } = page.get(after)!;
    if (last === null) return named;
    for (const [n, body] of bodies.values(after, last) as [number, string][]) {
      if (leaving.has(n)) continue;
      for (const [, owner, number] of body.matchAll(/"identifier":"([^"/\\]+)\/(\d+)"/g))
        if (owners.has(owner!)) named.add(`${owner}/${number}`);
    }
    after = last;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
