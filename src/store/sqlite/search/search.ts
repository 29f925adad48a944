// Full-text search over the words of nodes. Nodes are indexed after their turn, outside the transaction that adds
// them; a search first indexes what is still missing, so that a crashed turn is found too.
import type { Db } from "../db.ts";
import { nodesPerTree } from "../migrations.ts";
import { IdLookup, type NodeRow, nodeColumns, toNodes } from "../rows/node-row.ts";
import type { SearchHit } from "../../store.ts";

type Hit = { n: number; session: number; rank: number; match: string };
type Filter = { project: string | null; limit: number };

/** Whole words first; what only begins with the last word fills up the rest. */
export function search(db: Db, query: string, filter: Filter): SearchHit[] {
  const { whole, begun } = matchesOf(query);
  if (whole === null) return [];
  while (indexSome(db) > 0);
  const hits = hitsOf(db, whole, filter);
  if (begun !== null && hits.length < filter.limit) {
    const known = new Set(hits.map((hit) => hit.n));
    hits.push(...hitsOf(db, begun, filter).filter((hit) => !known.has(hit.n)));
  }
  const lookup = new IdLookup(db);
  return hits.slice(0, filter.limit).map(({ n, session, rank, match }) => {
    const [node] = toNodes(db, db.query(`select ${nodeColumns} from nodes where n = ?`).values(n) as NodeRow[]);
    const cut = db
      .query<{ snippet: string }>("select snippet(words, 0, ?1, ?2, '…', 24) as snippet from words where words match ?3 and rowid = ?4")
      .get(opening, closing, match, n);
    return { node: node!, session: lookup.idOf("sessions", session), ...markedIn(cut?.snippet ?? ""), rank };
  });
}

/** To rank, every match must be weighed. What is said in more nodes than this is told by the latest of them instead. */
const mostRanked = 5000;

/** A node of a purged session is told of by one that still stands in its tree. */
const teller = `case when s.purged_at is null then s.n else
  coalesce((select min(other.n) from sessions other where other.tree = s.tree and other.purged_at is null), s.n) end`;

function hitsOf(db: Db, match: string, filter: Filter): Hit[] {
  const { count } = db
    .query<{ count: number }>("select count(*) as count from (select 1 from words where words match ? limit ?)")
    .get(match, mostRanked + 1)!;
  if (count === 0) return [];
  const [rank, order] = count > mostRanked ? ["0.0", "words.rowid desc"] : ["words.rank", "words.rank"];
  return db
    .query<Hit>(
      `select words.rowid as n, ${teller} as session, ${rank} as rank, ?1 as match from words cross join nodes c on c.n = words.rowid
       cross join sessions s on s.n = c.session
       where words match ?1 and (?2 is null or s.project = ?2) order by ${order} limit ?3`,
    )
    .all(match, filter.project, filter.limit);
}

// No characters of any text.
const opening = "\uFDD0";
const closing = "\uFDD1";

function markedIn(cut: string): Pick<SearchHit, "snippet" | "marks"> {
  const marks: SearchHit["marks"] = [];
  let snippet = "";
  for (const [at, piece] of cut.split(opening).entries()) {
    const [hit = "", ...rest] = at === 0 ? ["", piece] : piece.split(closing);
    if (hit !== "") marks.push([snippet.length, snippet.length + hit.length]);
    snippet += hit + rest.join("");
  }
  return { snippet, marks };
}

const batch = 500;

/** Indexes up to a batch of one tree's nodes (a session's, or whichever waits) in a transaction of its own. */
export function indexSome(db: Db, session: string | null = null): number {
  const waiting = db.query<{ n: number; last: number; indexed: number }>(
    `select n, last, indexed from trees where stale = 1 and (?1 is null or n = (select tree from sessions where id = ?1))
     order by n limit 1`,
  );
  if (!waiting.get(session)) return 0;
  return db.write(() => {
    const tree = waiting.get(session);
    if (!tree) return 0;
    const upto = Math.min(tree.last, tree.indexed + batch);
    const floor = tree.n * nodesPerTree;
    db.query("insert into words (rowid, text) select n, text from node_text where n > ? and n <= ?").run(
      floor + tree.indexed,
      floor + upto,
    );
    db.query("update trees set indexed = ?, stale = ? where n = ?").run(upto, upto < tree.last ? 1 : 0, tree.n);
    return upto - tree.indexed;
  });
}

/** Every word must occur; "quoted words" as they stand. `begun`: the last word may go on, when it has three letters. */
function matchesOf(query: string): { whole: string | null; begun: string | null } {
  const terms = [...query.replaceAll("\0", " ").matchAll(/"([^"]*)"|([^\s"]+)/g)]
    .map((found) => ({ text: found[1] ?? found[2] ?? "", isWord: found[1] === undefined }))
    .filter((term) => /[\p{L}\p{N}_]/u.test(term.text));
  const last = terms.at(-1);
  if (last === undefined) return { whole: null, begun: null };
  const whole = terms.map((term) => `"${term.text}"`).join(" ");
  return { whole, begun: last.isWord && last.text.length >= 3 ? `${whole}*` : null };
}
