// Reads nodes from Postgres: by id or tail, the path from the root, the children, a whole tree or session.
import { Fault } from "../../../protocol/api/error.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import { isTail } from "../../sqlite/tables/sessions.ts";
import { type Sql, sql } from "../../sqlite/sql.ts";
import type { PgDb } from "../connection/connection.ts";
import { unpackText } from "../connection/packed-text.ts";
import { requireSession, endsWithTail } from "./sessions.ts";

export type NodeRow = { id: string; parent: string | null; tree: string; session: string; turn: string | null; at: number; body: string };

/** Selects a NodeRow for each node of `from`, which must name its nodes `c`. The caller adds the order. */
export function nodeRows(from: Sql): Sql {
  return sql`
    select c.id, p.id as parent, tr.id as tree, s.id as session, t.id as turn, c.at::float8 as at, c.body
    ${from} left join skein.nodes p on p.n = c.parent left join skein.trees tr on tr.n = c.n / 268435456
    left join skein.sessions s on s.n = c.session left join skein.turns t on t.n = c.turn`;
}

export function toNode({ body, ...fields }: NodeRow): Node {
  const node = Object.assign(JSON.parse(body) as Node, fields, { id: unpackText(fields.id) });
  if (fields.session !== null && fields.tree !== null) return node;
  throw new Fault("store-broken", `the session or the tree of node ${fields.id} is missing in the store`, {
    hint: "`skein verify` lists the damage",
  });
}

async function readNodes(db: PgDb, query: Sql): Promise<Node[]> {
  return (await db.plainRows<NodeRow>(query)).map(toNode);
}

export async function node(db: PgDb, id: string): Promise<Node | null> {
  return (await readNodes(db, nodeRows(sql`from (select * from skein.nodes where id = ${id}::text) c`)))[0] ?? null;
}

export async function findNode(db: PgDb, idOrTail: string): Promise<Node> {
  const tail = idOrTail.toLowerCase();
  const from = sql`from (select * from skein.nodes c where c.id = ${tail}::text
    or (${isTail(tail)}::boolean and ${endsWithTail("c.id", tail)}) limit 20) c`;
  const matches = await readNodes(db, nodeRows(from));
  const match = matches.find(({ id }) => id === tail) ?? (matches.length === 1 ? matches[0] : undefined);
  if (match !== undefined) return match;
  if (matches.length === 0)
    throw new Fault("node-unknown", `there is no node "${idOrTail}"`, { hint: "`skein show` lists the nodes of a session" });
  throw new Fault("node-unknown", `"${idOrTail}" matches ${matches.length} nodes: ${matches.map(({ id }) => id).join(", ")}`, {
    hint: "give more characters from the end of the id",
  });
}

/** The rows of a path, the tip first. `tip` selects one number, or null. */
export function pathRows(tip: Sql): Sql {
  return sql`${nodeRows(sql`from skein.path((${tip})) with ordinality c (n, parent, session, turn, at, id, author, body, place)`)} order by c.place`;
}

/** Throws if the path ends before its root. `rows` are in the order of `pathRows`. */
export function toPath(rows: NodeRow[]): Node[] {
  if (rows.length > 0 && rows.at(-1)!.parent !== null)
    throw new Fault("store-broken", "the path of a node ends before its root", { hint: "`skein verify` lists the damage" });
  return rows.toReversed().map(toNode);
}

export async function path(db: PgDb, id: string | null): Promise<Node[]> {
  if (id === null) return [];
  const rows = await db.plainRows<NodeRow>(pathRows(sql`select n from skein.nodes where id = ${id}::text`));
  if (rows.length === 0) throw new Fault("node-unknown", `there is no node ${id}`);
  return toPath(rows);
}

export async function sessionPath(db: PgDb, session: string): Promise<Node[]> {
  const tip = sql`select tip from skein.sessions where n = skein.number_of_session(${session}::text)`;
  return toPath(await db.plainRows<NodeRow>(pathRows(tip)));
}

export async function sessionPathEnd(db: PgDb, session: string): Promise<Node[]> {
  const rows = await db.plainRows<NodeRow>(sql`
    with recursive path_end as (
      select n.*, 1 as place from skein.nodes n
      where n.n = (select tip from skein.sessions where n = skein.number_of_session(${session}::text))
      union all
      select n.*, path_end.place + 1 from path_end join skein.nodes n on n.n = path_end.parent where path_end.author <> 'agent'
    ) ${nodeRows(sql`from path_end c`)} order by c.place`);
  return rows.toReversed().map(toNode);
}

export function children(db: PgDb, id: string): Promise<Node[]> {
  const from = sql`from (select * from skein.nodes where parent = (select n from skein.nodes where id = ${id}::text)) c`;
  return readNodes(db, sql`${nodeRows(from)} order by c.n`);
}

export function treeNodes(db: PgDb, tree: string): Promise<Node[]> {
  const number = sql`(select n from skein.trees where id = ${tree}::text)`;
  const from = sql`from (select * from skein.nodes where n > ${number} * 268435456 and n < (${number} + 1) * 268435456) c`;
  return readNodes(db, sql`${nodeRows(from)} order by c.n`);
}

export async function sessionNodes(db: PgDb, session: string, afterSeq = 0): Promise<Node[]> {
  const nodes = await readNodes(db, sessionNodeRows(session, afterSeq));
  // The query returns no rows for an unknown session too. That is an error.
  if (nodes.length === 0) await requireSession(db, session);
  return nodes;
}

export function sessionNodesFrom(db: PgDb, session: string, node: string): Promise<Node[]> {
  const seq = sql`
    select e.seq from skein.events e where e.session = (select n from skein.sessions where id = ${session}::text)
    and e.node = (select n from skein.nodes where id = ${node}::text) order by e.seq desc limit 1`;
  return readNodes(db, sessionNodeRows(session, sql`(select coalesce((${seq}), 1) - 1)`));
}

export function sessionNodeRows(session: string, afterSeq: number | Sql): Sql {
  const from = sql`from (select e.seq, n.* from skein.events e join skein.nodes n on n.n = e.node and e.kind = 2
    where e.session = (select n from skein.sessions where id = ${session}::text and purged_at is null) and e.seq > ${afterSeq}::bigint) c`;
  return sql`${nodeRows(from)} order by c.seq`;
}
