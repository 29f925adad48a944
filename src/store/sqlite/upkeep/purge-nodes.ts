// Finds the nodes of purged sessions that no other session needs, and deletes them: youngest first, in small
// transactions. Each node is checked again in its transaction, because a new fork may need it by then.
import { yieldToEventLoop } from "../../../kit/flow/time-slice.ts";
import type { Db } from "../db.ts";
import { nodesPerTree } from "../migrations.ts";

export type TreePurgePlan = {
  /** The nodes to delete, youngest first. */
  nodes: number[];
  bytes: number;
  /** Number of nodes in this tree that the sessions to purge wrote: the nodes to delete and those that stay. */
  nodesOfSessions: number;
  /** Number of turns with a node that stays, by session. */
  keptTurns: Map<number, number>;
};

type Row = [n: number, parent: number | null, session: number, turn: number | null, bytes: number];

/**
 * A node stays if another session wrote it, has its tip or its fork point there, or has a turn that started there.
 * Every ancestor of such a node stays too.
 */
export function planTreePurge(db: Db, tree: number, sessionsToPurge: ReadonlySet<number>): TreePurgePlan {
  const plan: TreePurgePlan = { nodes: [], bytes: 0, nodesOfSessions: 0, keptTurns: new Map() };
  const needed = pinnedNodes(db, tree, sessionsToPurge);
  const turns = new Map<number, Set<number>>();
  for (let before = (tree + 1) * nodesPerTree; ;) {
    const rows = db.values<Row>`
      select n, parent, session, turn, octet_length(body) from nodes
      where n > ${tree * nodesPerTree} and n < ${before} order by n desc limit 5000`;
    for (const [n, parent, session, turn, bytes] of rows) {
      const isOfPurgedSession = sessionsToPurge.has(session);
      if (isOfPurgedSession) plan.nodesOfSessions += 1;
      if (isOfPurgedSession && !needed.has(n)) {
        plan.nodes.push(n);
        plan.bytes += bytes;
        continue;
      }
      if (parent !== null) needed.add(parent);
      if (isOfPurgedSession && turn !== null) turns.set(session, (turns.get(session) ?? new Set<number>()).add(turn));
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
  let deleted = 0;
  for (let start = 0; start < plan.nodes.length; start += batchSize) {
    deleted += await db.write(() => {
      const purged = purgedSessionsIn(db, tree);
      const pinned = pinnedNodes(db, tree, purged);
      const indexedCount = db.row<{ indexed: number }>`select indexed from trees where n = ${tree}`?.indexed ?? 0;
      const batch = plan.nodes.slice(start, start + batchSize).filter((n) => {
        // Another purge may have been faster. The number may then belong to another node.
        const writer = db.row<{ session: number }>`select session from nodes where n = ${n}`?.session;
        if (writer === undefined || !purged.has(writer)) return false;
        if (pinned.has(n) || db.row`select 1 from nodes where parent = ${n} limit 1` !== null) return false;
        // FTS5 deletes an entry of the index by the insert of 'delete' with the indexed text.
        if (n <= tree * nodesPerTree + indexedCount)
          db.run`insert into words (words, rowid, text) select 'delete', n, text from node_text where n = ${n}`;
        return db.run`delete from nodes where n = ${n}`.changes > 0;
      });
      return batch.length;
    });
    await yieldToEventLoop();
  }
  return deleted;
}

/** The nodes of the tree that sessions other than `excluded` point at. */
function pinnedNodes(db: Db, tree: number, excluded: ReadonlySet<number>): Set<number> {
  const rows = db.values<[session: number, node: number]>`
    select s.n, s.tip from sessions s where s.tree = ${tree} and s.tip is not null
    union all select s.n, c.n from sessions s join nodes c on c.id = s.forked_node where s.tree = ${tree}
    union all select s.n, t.parent from sessions s join turns t on t.session = s.n where s.tree = ${tree} and t.parent is not null`;
  return new Set(rows.flatMap(([session, node]) => (excluded.has(session) ? [] : [node])));
}

function purgedSessionsIn(db: Db, tree: number): Set<number> {
  return new Set(db.values<[number]>`select n from sessions where tree = ${tree} and purged_at is not null`.flat());
}

type RemainingNodes = { count: number; turns: Map<number, { parent: number | null; tip: number }> };

/** The nodes of a purged session that stay: `count` is their number, `turns` has the turns that they belong to. */
export function remainingNodes(db: Db, session: { n: number; tree: number }): RemainingNodes {
  const [first, last] = [session.tree * nodesPerTree, (session.tree + 1) * nodesPerTree];
  const rows = db.values<[n: number, parent: number | null, turn: number | null]>`
    select n, parent, turn from nodes where n > ${first} and n < ${last} and session = ${session.n} order by n`;
  const turns: RemainingNodes["turns"] = new Map();
  for (const [n, parent, turn] of rows)
    if (turn !== null) turns.set(turn, { parent: turns.has(turn) ? turns.get(turn)!.parent : parent, tip: n });
  return { count: rows.length, turns };
}

/** The outputs of these sessions that a remaining node of any tree refers to. Reads the nodes in pages. */
export async function referencedOutputs(
  db: Db,
  sessions: readonly { n: number; id: string }[],
  nodesToDelete: ReadonlySet<number>,
): Promise<Set<string>> {
  const referenced = new Set<string>();
  const hasOutputs = ({ n }: { n: number }) => db.row`select 1 from handles where session = ${n} limit 1` !== null;
  const owners = new Set(sessions.filter(hasOutputs).map((session) => session.id));
  if (owners.size === 0) return referenced;
  for (let after = 0; ;) {
    const { last } = db.row<{ last: number | null }>`
      select max(n) as last from (select n from nodes where n > ${after} order by n limit 5000)`!;
    if (last === null) return referenced;
    const bodies = db.values<[n: number, body: string]>`
      select n, body from nodes where n > ${after} and n <= ${last} and instr(body, '"identifier":"') > 0`;
    for (const [n, body] of bodies) {
      if (nodesToDelete.has(n)) continue;
      for (const [, owner, number] of body.matchAll(/"identifier":"([^"/\\]+)\/(\d+)"/g))
        if (owners.has(owner!)) referenced.add(`${owner}/${number}`);
    }
    after = last;
    await yieldToEventLoop();
  }
}
