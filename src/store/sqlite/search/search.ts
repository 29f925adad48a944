// Full-text search over the words of nodes. Nodes are indexed after their turn, not in the transaction that adds them.
// A search first indexes the nodes that are still missing, so that it also finds those of a crashed turn.
import type { Db } from "../db.ts";
import { nodesPerTree } from "../migrations.ts";
import { idOf, type NodeRow, nodeColumns, toNodes } from "../rows/node-row.ts";
import { inProject } from "../rows/session-row.ts";
import { sql } from "../sql.ts";
import { matchEnd, matchesOf, matchStart, toMarks } from "../../../kit/sqlite/word-match.ts";
import type { SearchHit } from "../../store.ts";

type Hit = { n: number; session: number; rank: number; match: string };
type Filter = { project: string | null; limit: number };

/** Returns matches of whole words first, and then matches of the last word as a prefix, up to the limit. */
export async function search(db: Db, query: string, filter: Filter): Promise<SearchHit[]> {
  const { wholeWords, prefix } = matchesOf(query);
  if (wholeWords === null) return [];
  while ((await indexSome(db)) > 0);
  const hits = findHits(db, wholeWords, filter);
  if (prefix !== null && hits.length < filter.limit) {
    const nodes = new Set(hits.map((hit) => hit.n));
    hits.push(...findHits(db, prefix, filter).filter((hit) => !nodes.has(hit.n)));
  }
  return hits.slice(0, filter.limit).map(({ n, session, rank, match }) => {
    const [node] = toNodes(db, db.values<NodeRow>`select ${nodeColumns} from nodes c where c.n = ${n}`);
    const row = db.row<{ snippet: string }>`
      select snippet(words, 0, ${matchStart}, ${matchEnd}, '…', 24) as snippet from words where words match ${match} and rowid = ${n}`;
    return { node: node!, session: idOf(db, "sessions", session), ...toMarks(row?.snippet ?? ""), rank };
  });
}

/** Ranking reads every match. A query with more matches than this returns the latest nodes instead. */
const maxRanked = 5000;

/** A node of a purged session is reported under another session of its tree. */
const reportedSession = sql`case when s.purged_at is null then s.n else
  coalesce((select min(other.n) from sessions other where other.tree = s.tree and other.purged_at is null), s.n) end`;

/** False for the nodes that a purge is about to remove: their tree has no session any more. */
const hasSession = sql`(s.purged_at is null or exists (select 1 from sessions other where other.tree = s.tree and other.purged_at is null))`;

function findHits(db: Db, match: string, filter: Filter): Hit[] {
  const { count } = db.row<{ count: number }>`
    select count(*) as count from (select 1 from words where words match ${match} limit ${maxRanked + 1})`!;
  if (count === 0) return [];
  const [rank, order] = count > maxRanked ? [sql`0.0`, sql`words.rowid desc`] : [sql`words.rank`, sql`words.rank`];
  return db.rows<Hit>`
    select words.rowid as n, ${reportedSession} as session, ${rank} as rank, ${match} as match
    from words cross join nodes c on c.n = words.rowid cross join sessions s on s.n = c.session
    where words match ${match} and ${inProject(filter.project)} and ${hasSession}
    order by ${order} limit ${filter.limit}`;
}

const batchSize = 500;

/** Indexes up to a batch of nodes of one tree, in its own transaction. If `session` is null, it takes any tree that has nodes to index. */
export async function indexSome(db: Db, session: string | null = null): Promise<number> {
  const staleTree = () => db.row<{ n: number; last: number; indexed: number }>`
    select n, last, indexed from trees
    where stale = 1 and (${session} is null or n = (select tree from sessions where id = ${session})) order by n limit 1`;
  if (!staleTree()) return 0;
  return db.write(() => {
    const tree = staleTree();
    if (!tree) return 0;
    const last = Math.min(tree.last, tree.indexed + batchSize);
    const base = tree.n * nodesPerTree;
    db.run`insert into words (rowid, text) select n, text from node_text where n > ${base + tree.indexed} and n <= ${base + last}`;
    db.run`update trees set indexed = ${last}, stale = ${last < tree.last ? 1 : 0} where n = ${tree.n}`;
    return last - tree.indexed;
  });
}
