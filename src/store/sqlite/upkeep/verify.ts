// Checks the whole store for damage. Only reads, and in small pieces, so that no writer waits.
// Rows that are added meanwhile are not checked.
import { yieldToEventLoop } from "../../../kit/flow/time-slice.ts";
import type { VerifyProblem, VerifyReport } from "../../../protocol/api/api.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import type { Db } from "../db.ts";
import type { LeaseHolder } from "../lease.ts";
import { nodesPerTree } from "../migrations.ts";
import type { OutputFiles } from "../outputs/output-files.ts";
import { Sql, sql } from "../sql.ts";
import { eventKinds } from "../tables/write-turn.ts";
import { countUnindexed, repairSteps } from "./repair.ts";
import { verifyHandles, verifyTranscripts } from "./verify-files.ts";

type AddEntry = (kind: string, subject: string, message: string) => void;

export type UpkeepContext = {
  db: Db;
  files: OutputFiles;
  self: LeaseHolder;
  report: VerifyReport;
  /** Adds an entry to the report's problems. */
  problem: AddEntry;
  /** Adds an entry to the report's repairs. */
  repaired: AddEntry;
  /** Counts checked rows and yields to the event loop. */
  advance: (count: number) => Promise<void>;
};

/** The kind of row that a step is about, and the step. */
export type UpkeepStep = readonly [kind: string, run: (ctx: UpkeepContext) => void | Promise<void>];

export async function verify(
  db: Db,
  files: OutputFiles,
  self: LeaseHolder,
  options: { repair?: boolean; onProgress?: (checked: number) => void },
): Promise<VerifyReport> {
  const report: VerifyReport = { sessions: 0, nodes: 0, turns: 0, handles: 0, transcripts: 0, problems: [] };
  const repaired: VerifyProblem[] = [];
  let checked = 0;
  const ctx: UpkeepContext = {
    db,
    files,
    self,
    report,
    problem: (kind, subject, message) => report.problems.push({ kind, subject, message }),
    repaired: (kind, subject, message) => repaired.push({ kind, subject, message }),
    advance: async (count) => {
      checked += count;
      options.onProgress?.(checked);
      await yieldToEventLoop();
    },
  };
  if (options.repair) {
    await runSteps(ctx, "repair", repairSteps);
    report.repaired = repaired;
  }
  await runSteps(ctx, "check", verifySteps);
  return report;
}

/** A damaged page ends the step that reads it, not the whole check. */
async function runSteps(ctx: UpkeepContext, work: "repair" | "check", steps: readonly UpkeepStep[]): Promise<void> {
  for (const [kind, run] of steps) {
    try {
      await run(ctx);
    } catch (error) {
      ctx.problem(kind, ctx.db.path, `the ${work} of every ${kind} stopped: ${messageOf(error)}`);
    }
  }
}

const verifySteps: readonly UpkeepStep[] = [
  ["database", verifyPages],
  ["node", verifyNodes],
  ["session", verifySessions],
  ["event", verifyEvents],
  ["lease", verifyLeases],
  ["turn", verifyTurns],
  ["search", verifyWords],
  ["handle", verifyHandles],
  ["transcript", verifyTranscripts],
];

/** The database file, including the full-text index. */
function verifyPages({ db, problem }: UpkeepContext): void {
  for (const { quick_check: result } of db.rows<{ quick_check: string }>`pragma quick_check(20)`)
    if (result !== "ok") problem("database", db.path, result);
}

function verifyWords({ db, problem }: UpkeepContext): void {
  const difference = countUnindexed(db);
  if (difference !== 0)
    problem("search", db.path, `the full-text index differs by ${Math.abs(difference)} nodes; \`skein verify --repair\` rebuilds it`);
}

const batchSize = 2000;

/** `faults` selects the `id` and the `fault` of each row `c` of the table. Returns the number of rows. */
async function verifyRows(ctx: UpkeepContext, kind: "node" | "session" | "turn", faults: Sql): Promise<number> {
  const { db, problem, advance } = ctx;
  const table = new Sql(`${kind}s`);
  let total = 0;
  for (let after = 0; ;) {
    const { count, last } = db.row<{ count: number; last: number | null }>`
      select count(*) as count, max(n) as last from (select n from ${table} where n > ${after} order by n limit ${batchSize})`!;
    if (last === null) return total;
    const rows = db.rows<{ id: string; fault: string }>`
      ${faults} where c.n > ${after} and c.n <= ${last} and fault is not null order by c.n`;
    for (const { id, fault } of rows) problem(kind, id, `${kind} ${id} ${fault}`);
    total += count;
    after = last;
    await advance(count);
  }
}

/** The number as SQL text: SQLite must divide by an integer, and a parameter may be bound as a float. */
const perTree = new Sql(String(nodesPerTree));

async function verifyNodes(ctx: UpkeepContext): Promise<void> {
  ctx.report.nodes = await verifyRows(
    ctx,
    "node",
    sql`select c.id, case
        when tr.n is null then 'belongs to a missing tree'
        when c.n - tr.n * ${perTree} > tr.last then 'has a number past the end of its tree'
        when s.n is null then 'belongs to a missing session'
        when s.tree <> tr.n then 'is in another tree than its session'
        when c.parent is not null and p.n is null then 'has a missing parent'
        when p.n >= c.n or p.n / ${perTree} <> tr.n then 'has a parent that is younger or in another tree'
        when c.turn is not null and t.n is null then 'belongs to a missing turn'
        when t.session <> c.session then 'belongs to a turn of another session'
        when not json_valid(c.body) then 'has a body that is not JSON' end as fault
      from nodes c left join trees tr on tr.n = c.n / ${perTree} left join sessions s on s.n = c.session
        left join nodes p on p.n = c.parent left join turns t on t.n = c.turn`,
  );
}

async function verifySessions(ctx: UpkeepContext): Promise<void> {
  await verifyRows(
    ctx,
    "session",
    sql`select c.id, case
        when t.n is null then 'belongs to a missing tree'
        when c.tip is not null and p.n is null then 'points at a missing node'
        when p.n / ${perTree} <> c.tree then 'points at a node of another tree' end as fault
      from sessions c left join trees t on t.n = c.tree left join nodes p on p.n = c.tip`,
  );
  ctx.report.sessions = ctx.db.row<{ count: number }>`select count(*) as count from sessions where purged_at is null`!.count;
}

async function verifyTurns(ctx: UpkeepContext): Promise<void> {
  ctx.report.turns = await verifyRows(
    ctx,
    "turn",
    sql`select c.id, case
        when s.n is null then 'belongs to a missing session'
        when (c.ended_at is null) <> (c.status is null) then 'has an end without a status, or a status without an end'
        when c.parent is not null and a.n is null then 'starts at a missing node'
        when c.tip is not null and b.n is null then 'ends at a missing node'
        when b.turn <> c.n then 'ends at a node of another turn'
        when not json_valid(c.policy) then 'has a policy that is not JSON' end as fault
      from turns c left join sessions s on s.n = c.session left join nodes a on a.n = c.parent left join nodes b on b.n = c.tip`,
  );
}

/** Events must be numbered without a gap and refer to rows that exist. */
async function verifyEvents({ db, problem, advance }: UpkeepContext): Promise<void> {
  const { "node.added": added, "queue.changed": queued, "ask.opened": opened, "ask.closed": closed } = eventKinds;
  for (const session of db.rows<{ n: number; id: string; seq: number }>`select n, id, seq from sessions order by n`) {
    const faults = db.rows<{ seq: number; fault: string }>`
      select e.seq, case
        when e.kind = ${added} and c.n is null then 'refers to a missing node'
        when e.kind = ${added} and c.session <> e.session then 'refers to a node of another session'
        when e.kind not in (${added}, ${queued}) and t.n is null then 'refers to a missing turn'
        when e.kind in (${opened}, ${closed}) and a.n is null then 'refers to a missing question' end as fault
      from events e left join nodes c on c.n = e.node left join turns t on t.n = e.turn left join asks a on a.n = e.item
      where e.session = ${session.n} and e.seq <= ${session.seq} and fault is not null order by e.seq`;
    for (const { seq, fault } of faults) problem("event", `${session.id}/${seq}`, `event ${seq} of session ${session.id} ${fault}`);
    const { count } = db.row<{ count: number }>`
      select count(*) as count from events where session = ${session.n} and seq <= ${session.seq}`!;
    if (count !== session.seq) problem("event", session.id, `session ${session.id} has ${count} of its ${session.seq} events`);
    await advance(count);
  }
}

function verifyLeases({ db, problem }: UpkeepContext): void {
  for (const { session } of db.rows<{ session: number }>`select session from leases where session not in (select n from sessions)`)
    problem("lease", String(session), `a lease is held on session row ${session}, which is missing`);
}
