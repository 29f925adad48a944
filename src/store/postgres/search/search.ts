// Full-text search over the words of nodes in Postgres. Nodes are indexed after their turn, not in the write that adds them.
// A search first indexes the nodes that are still missing, so that it also finds those of a crashed turn.
import type { Node } from "../../../protocol/tree/node.ts";
import { sql } from "../../sqlite/sql.ts";
import type { SearchHit } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { type NodeRow, toNode } from "../tables/nodes.ts";
import { nodeText, parseQuery, toVector } from "./tokens.ts";
import { toSnippet } from "./snippet.ts";

type Filter = { project: string | null; limit: number };
type HitRow = NodeRow & { reported: string; rank: number };

/** Returns matches of whole words first, and then matches of the last word as a prefix, up to the limit. */
export async function search(db: PgDb, query: string, filter: Filter): Promise<SearchHit[]> {
  const { wholeWords, prefix, phrases } = parseQuery(query);
  if (wholeWords === null) return [];
  while ((await indexSome(db)) > 0);
  const hits = await findHits(db, wholeWords, filter);
  const found = hits.map((row) => toHit(row, phrases, false));
  if (prefix === null || hits.length >= filter.limit) return found;
  const known = new Set(hits.map(({ id }) => id));
  const more = (await findHits(db, prefix, filter)).filter(({ id }) => !known.has(id));
  return [...found, ...more.map((row) => toHit(row, phrases, true))].slice(0, filter.limit);
}

function findHits(db: PgDb, query: string, { project, limit }: Filter): Promise<HitRow[]> {
  return db.rows<HitRow>(sql`
    select c.id, p.id as parent, tr.id as tree, s.id as session, t.id as turn, c.at, c.body, h.rank, rs.id as reported
    from skein.find_words(${query}::text, ${project}::text, ${limit}::bigint) with ordinality h (n, session, rank, place)
    join skein.nodes c on c.n = h.n left join skein.nodes p on p.n = c.parent left join skein.trees tr on tr.n = c.n / 268435456
    left join skein.sessions s on s.n = c.session left join skein.turns t on t.n = c.turn
    left join skein.sessions rs on rs.n = h.session order by h.place`);
}

function toHit({ reported, rank, ...row }: HitRow, phrases: string[][], isPrefix: boolean): SearchHit {
  const node: Node = toNode(row);
  return { node, session: reported, ...toSnippet(nodeText(node), phrases, isPrefix), rank };
}

const batchSize = 500;

/** Indexes up to a batch of nodes of one tree. If `session` is null, it takes any tree that has nodes to index. */
export async function indexSome(db: PgDb, session: string | null = null): Promise<number> {
  const tree = await db.row<{ n: number; last: number; indexed: number }>(sql`
    select n, last, indexed from skein.trees where stale
      and (${session}::text is null or n = (select tree from skein.sessions where id = ${session}::text)) order by n limit 1`);
  if (tree === null) return 0;
  const to = Math.min(tree.last, tree.indexed + batchSize);
  const base = tree.n * 2 ** 28;
  const nodes = await db.plainRows<{ n: number; body: string }>(
    sql`select n::float8 as n, body from skein.nodes where n > ${base + tree.indexed}::bigint and n <= ${base + to}::bigint`,
  );
  const words = nodes.map(({ n, body }) => [n, toVector(nodeText(JSON.parse(body)))]);
  await db.call("index_words", tree.n, tree.indexed, to, JSON.stringify(words));
  return Math.max(1, to - tree.indexed);
}
