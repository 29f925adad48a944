// Checks a whole store in Postgres for damage, in small pieces. Only reads, except with `repair`: that indexes all words anew.
// Rows that are added meanwhile are not checked. Transcripts are files of other machines and not checked.
import type { VerifyReport } from "../../../protocol/api/api.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import { Sql, sql } from "../../sqlite/sql.ts";
import { eventKinds } from "../../sqlite/tables/write-turn.ts";
import type { Store } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { readOutput } from "../outputs/outputs.ts";
import { indexSome } from "../search/search.ts";

type Context = {
  db: PgDb;
  report: VerifyReport;
  problem: (kind: string, subject: string, message: string) => void;
  advance: (count: number) => void;
};

export async function verify(db: PgDb, { repair, onProgress }: Parameters<Store["verify"]>[0]): Promise<VerifyReport> {
  const report: VerifyReport = { sessions: 0, nodes: 0, turns: 0, handles: 0, transcripts: 0, problems: [] };
  let checked = 0;
  const ctx: Context = {
    db,
    report,
    problem: (kind, subject, message) => report.problems.push({ kind, subject, message }),
    advance: (count) => onProgress?.((checked += count)),
  };
  if (repair) report.repaired = await rebuildIndex(db);
  for (const [kind, check] of steps) {
    try {
      await check(ctx);
    } catch (error) {
      ctx.problem(kind, db.address, `the check of every ${kind} stopped: ${messageOf(error)}`);
    }
  }
  return report;
}

const steps: readonly (readonly [string, (ctx: Context) => Promise<void>])[] = [
  ["node", verifyNodes],
  ["session", verifySessions],
  ["turn", verifyTurns],
  ["event", verifyEvents],
  ["lease", verifyLeases],
  ["search", verifyWords],
  ["handle", verifyHandles],
];

const batchSize = 2000;

/** `faults` selects the `id` and the `fault` of each row `c` of the table. Returns the number of rows. */
async function verifyRows({ db, problem, advance }: Context, kind: "node" | "session" | "turn", faults: Sql): Promise<number> {
  const table = new Sql(`skein.${kind}s`);
  let total = 0;
  for (let after = 0; ;) {
    const { count, last } = (await db.row<{ count: number; last: number | null }>(sql`
      select count(*) as count, max(n) as last from (select n from ${table} where n > ${after}::bigint order by n limit ${batchSize}::bigint) x`))!;
    if (last === null) return total;
    const rows = await db.rows<{ id: string; fault: string }>(sql`
      select * from (${faults} where c.n > ${after}::bigint and c.n <= ${last}::bigint order by c.n) x where fault is not null`);
    for (const { id, fault } of rows) problem(kind, id, `${kind} ${id} ${fault}`);
    total += count;
    after = last;
    advance(count);
  }
}

async function verifyNodes(ctx: Context): Promise<void> {
  ctx.report.nodes = await verifyRows(
    ctx,
    "node",
    sql`select c.id, case
        when tr.n is null then 'belongs to a missing tree'
        when c.n - tr.n * 268435456 > tr.last then 'has a number past the end of its tree'
        when s.n is null then 'belongs to a missing session'
        when s.tree <> tr.n then 'is in another tree than its session'
        when c.parent is not null and p.n is null then 'has a missing parent'
        when p.n >= c.n or p.n / 268435456 <> tr.n then 'has a parent that is younger or in another tree'
        when c.turn is not null and t.n is null then 'belongs to a missing turn'
        when t.session <> c.session then 'belongs to a turn of another session'
        when left(c.body, 1) <> '{' or right(c.body, 1) <> '}' then 'has a body that is not JSON' end as fault
      from skein.nodes c left join skein.trees tr on tr.n = c.n / 268435456 left join skein.sessions s on s.n = c.session
        left join skein.nodes p on p.n = c.parent left join skein.turns t on t.n = c.turn`,
  );
}

async function verifySessions(ctx: Context): Promise<void> {
  await verifyRows(
    ctx,
    "session",
    sql`select c.id, case
        when t.n is null then 'belongs to a missing tree'
        when c.tip is not null and p.n is null then 'points at a missing node'
        when p.n / 268435456 <> c.tree then 'points at a node of another tree' end as fault
      from skein.sessions c left join skein.trees t on t.n = c.tree left join skein.nodes p on p.n = c.tip`,
  );
  const row = await ctx.db.row<{ count: number }>("select count(*) as count from skein.sessions where purged_at is null");
  ctx.report.sessions = row!.count;
}

async function verifyTurns(ctx: Context): Promise<void> {
  ctx.report.turns = await verifyRows(
    ctx,
    "turn",
    sql`select c.id, case
        when s.n is null then 'belongs to a missing session'
        when (c.ended_at is null) <> (c.status is null) then 'has an end without a status, or a status without an end'
        when c.parent is not null and a.n is null then 'starts at a missing node'
        when c.tip is not null and b.n is null then 'ends at a missing node'
        when b.turn is distinct from c.n and c.tip is not null then 'ends at a node of another turn' end as fault
      from skein.turns c left join skein.sessions s on s.n = c.session left join skein.nodes a on a.n = c.parent
        left join skein.nodes b on b.n = c.tip`,
  );
}

/** Events must be numbered without a gap and refer to rows that exist. */
async function verifyEvents({ db, problem, advance }: Context): Promise<void> {
  const { "node.added": added, "queue.changed": queued, "ask.opened": opened, "ask.closed": closed } = eventKinds;
  const rows = await db.rows<{ id: string; seq: number; fault: string }>(sql`
    select * from (select s.id, e.seq, case
      when e.kind = ${added}::int and c.n is null then 'refers to a missing node'
      when e.kind = ${added}::int and c.session <> e.session then 'refers to a node of another session'
      when e.kind not in (${added}::int, ${queued}::int) and t.n is null then 'refers to a missing turn'
      when e.kind in (${opened}::int, ${closed}::int) and a.n is null then 'refers to a missing question' end as fault
    from skein.events e join skein.sessions s on s.n = e.session and s.purged_at is null left join skein.nodes c on c.n = e.node
      left join skein.turns t on t.n = e.turn left join skein.asks a on a.n = e.item) x where fault is not null order by id, seq`);
  for (const { id, seq, fault } of rows) problem("event", `${id}/${seq}`, `event ${seq} of session ${id} ${fault}`);
  const counts = await db.rows<{ id: string; seq: number; count: number }>(`
    select s.id, s.seq, (select count(*) from skein.events e where e.session = s.n) as count from skein.sessions s where s.purged_at is null`);
  for (const { id, seq, count } of counts) {
    if (count !== seq) problem("event", id, `session ${id} has ${count} of its ${seq} events`);
    advance(count);
  }
}

/** A session whose holder has no row was not given back; it can be acquired all the same. */
async function verifyLeases({ db, problem }: Context): Promise<void> {
  const rows = await db.rows<{ id: string; holder: string }>(
    "select id, holder from skein.sessions where holder is not null and holder not in (select id from skein.workers)",
  );
  for (const { id, holder } of rows) problem("lease", id, `session ${id} is held by worker ${holder}, which is not registered`);
}

async function verifyWords({ db, problem }: Context): Promise<void> {
  const row = await db.row<{ count: number }>(`
    select (select count(*) from skein.nodes c join skein.trees t on t.n = c.n / 268435456 and c.n <= t.n * 268435456 + t.indexed
      where not exists (select 1 from skein.words w where w.n = c.n))
      + (select count(*) from skein.words w where not exists (select 1 from skein.nodes c where c.n = w.n)) as count`);
  if (row!.count > 0)
    problem("search", db.address, `the full-text index differs by ${row!.count} nodes; \`skein verify --repair\` rebuilds it`);
}

/** Skips outputs that were never closed: their call still runs or was killed, so there is no hash to compare. */
async function verifyHandles({ db, report, problem, advance }: Context): Promise<void> {
  const handles = await db.rows<{ identifier: string; kept: number; lost: number; head: number; sha256: string }>(`
    select s.id || '/' || h.n as identifier, h.kept_bytes as kept, h.bytes - h.kept_bytes as lost, h.head_bytes as head, h.sha256
    from skein.handles h join skein.sessions s on s.n = h.session where h.closed_at is not null order by h.session, h.n`);
  for (const { identifier, kept, lost, head, sha256 } of handles) {
    report.handles += 1;
    const hash = new Bun.CryptoHasher("sha256");
    let bytes = 0;
    const notice = lost > 0 ? `\n[... ${lost} bytes not kept ...]\n`.length : 0;
    for await (const chunk of await readOutput(db, identifier)) {
      const isNotice = notice > 0 && bytes === head && chunk.length === notice;
      if (isNotice) continue;
      hash.update(chunk);
      bytes += chunk.length;
    }
    if (bytes !== kept) problem("handle", identifier, `the output ${identifier} has ${bytes} bytes instead of ${kept}`);
    else if (hash.digest("hex") !== sha256) problem("handle", identifier, `the output ${identifier} was changed: its hash differs`);
    advance(1);
  }
}

async function rebuildIndex(db: PgDb): Promise<NonNullable<VerifyReport["repaired"]>> {
  await db.exec("delete from skein.words; update skein.trees set indexed = 0, stale = last > 0");
  let count = 0;
  for (let added = 1; added > 0;) count += added = await indexSome(db);
  return [{ kind: "search", subject: db.address, message: `indexed ${count} nodes anew` }];
}
