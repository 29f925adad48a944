// Finds the nodes of hidden sessions that no other session needs, and deletes them: youngest first, in small
// transactions. Each node is checked again in its transaction, because a new fork may need it by then.
import { yieldToEventLoop } from "../../../kit/flow/time-slice.ts";
import type { Db } from "../db.ts";
import { nodesPerTree } from "../migrations.ts";

export type TreePurgePlan = {
  /** The nodes to delete, youngest first. */
  nodes: number[];
  bytes: number;
  /** Number of nodes that those sessions have in this tree. */
  written: number;
  /** For each session: the number of its turns that have a node that stays. */
  keptTurns: Map<number, number>;
};

type Row = [n: number, parent: number | null, session: number, turn: number | null, bytes: number];

/**
 * A node stays if another session wrote it, has its tip or its fork point there, or has a turn that started there.
 * Every ancestor of such a node stays too.
 */
export function planTreePurge(db: Db, tree: number, doomed: ReadonlySet<number>): TreePurgePlan {
  const plan: TreePurgePlan = { nodes: [], bytes: 0, written: 0, keptTurns: new Map() };
  const needed = pinnedNodes(db, tree, doomed);
  const turns = new Map<number, Set<number>>();
  const page = db.query("select n, parent, session, turn, octet_length(body) from nodes where n > ? and n < ? order by n desc limit ?");
  for (let before = (tree + 1) * nodesPerTree; ;) {
    const rows = page.values(tree * nodesPerTree, before, 5000) as Row[];
    for (const [n, parent, session, turn, bytes] of rows) {
      const isDoomed = doomed.has(session);
      if (isDoomed) plan.written += 1;
      if (isDoomed && !needed.has(n)) {
        plan.nodes.push(n);
        plan.bytes += bytes;
        continue;
      }
      if (parent !== null) needed.add(parent);
      if (isDoomed && turn !== null) turns.set(session, (turns.get(session) ?? new Set<number>()).add(turn));
    }
    if (rows.length === 0) break;
    before = rows.at(-1)![0];
  }
  for (const [session, kept] of turns) plan.keptTurns.set(session, kept.size);
  return plan;
}

const batchSize = 100;

/** Returns the number of deleted nodes. */
export async function purgeNodes(db: Db, tree: number, plan: TreePurgePlan): Promise<number> {
  const child = db.query("select 1 from nodes where parent = ? limit 1");
  const unindex = db.query("insert into words (words, rowid, text) select 'delete', n, text from node_text where n = ?");
  const writer = db.query<{ session: number }>("select session from nodes where n = ?");
  const remove = db.query("delete from nodes where n = ?");
  const indexed = db.query<{ indexed: number }>("select indexed from trees where n = ?");
  let deleted = 0;
  for (let start = 0; start < plan.nodes.length; start += batchSize) {
    deleted += db.write(() => {
      const hidden = hiddenIn(db, tree);
      const pinned = pinnedNodes(db, tree, hidden);
      const lastIndexed = tree * nodesPerTree + (indexed.get(tree)?.indexed ?? 0);
      const batch = plan.nodes.slice(start, start + batchSize).filter((n) => {
        // Another purge may have been faster. The number may then belong to another node.
        if (!hidden.has(writer.get(n)?.session ?? -1)) return false;
        if (pinned.has(n) || child.get(n) !== null) return false;
        if (n <= lastIndexed) unindex.run(n);
        return remove.run(n).changes > 0;
      });
      return batch.length;
    });
    await yieldToEventLoop();
  }
  return deleted;
}

/** The nodes of the tree that sessions other than `excluded` point at. */
function pinnedNodes(db: Db, tree: number, excluded: ReadonlySet<number>): Set<number> {
  const rows = db
    .query(
      `select s.n, s.tip from sessions s where s.tree = ?1 and s.tip is not null
       union all select s.n, c.n from sessions s join nodes c on c.id = s.forked_node where s.tree = ?1
       union all select s.n, t.parent from sessions s join turns t on t.session = s.n where s.tree = ?1 and t.parent is not null`,
    )
    .values(tree) as [session: number, node: number][];
  return new Set(rows.flatMap(([session, node]) => (excluded.has(session) ? [] : [node])));
}

function hiddenIn(db: Db, tree: number): Set<number> {
  const rows = db.query<{ n: number }>("select n from sessions where tree = ? and purged_at is not null").all(tree);
  return new Set(rows.map(({ n }) => n));
}

type RemainingNodes = { count: number; turns: Map<number, { parent: number | null; tip: number }> };

/** The number of remaining nodes of a hidden session, and the parent and tip of its turns among them. */
export function remainingNodes(db: Db, session: { n: number; tree: number }): RemainingNodes {
  const rows = db
    .query("select n, parent, turn from nodes where n > ? and n < ? and session = ? order by n")
    .values(session.tree * nodesPerTree, (session.tree + 1) * nodesPerTree, session.n) as [number, number | null, number | null][];
  const turns: RemainingNodes["turns"] = new Map();
  for (const [n, parent, turn] of rows)
    if (turn !== null) turns.set(turn, { parent: turns.has(turn) ? turns.get(turn)!.parent : parent, tip: n });
  return { count: rows.length, turns };
}

/** The outputs of these sessions that a remaining node of any tree refers to. Reads the nodes in pages. */
export async function referencedOutputs(
  db: Db,
  sessions: readonly { n: number; id: string }[],
  doomedNodes: ReadonlySet<number>,
): Promise<Set<string>> {
  const referenced = new Set<string>();
  const hasOutputs = db.query("select 1 from handles where session = ? limit 1");
  const owners = new Set(sessions.filter((session) => hasOutputs.get(session.n) !== null).map((session) => session.id));
  if (owners.size === 0) return referenced;
  const page = db.query<{ last: number | null }>("select max(n) as last from (select n from nodes where n > ? order by n limit 5000)");
  const bodies = db.query(`select n, body from nodes where n > ? and n <= ? and instr(body, '"identifier":"') > 0`);
  for (let after = 0; ;) {
    const { last } = page.get(after)!;
    if (last === null) return referenced;
    for (const [n, body] of bodies.values(after, last) as [number, string][]) {
      if (doomedNodes.has(n)) continue;
      for (const [, owner, number] of body.matchAll(/"identifier":"([^"/\\]+)\/(\d+)"/g))
        if (owners.has(owner!)) referenced.add(`${owner}/${number}`);
    }
    after = last;
    await yieldToEventLoop();
  }
}
