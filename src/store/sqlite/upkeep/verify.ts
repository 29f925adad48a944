// Checks the whole store for damage. Only reads, and in small pieces, so that no writer waits.
// Rows that are added meanwhile are not checked.
import { yieldToEventLoop } from "../../../kit/flow/time-slice.ts";
import type { VerifyProblem, VerifyReport } from "../../../protocol/api/api.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import type { Db } from "../db.ts";
import { eventKinds } from "../tables/write-turn.ts";
import type { LeaseHolder } from "../lease.ts";
import { nodesPerTree } from "../migrations.ts";
import type { OutputFiles } from "../outputs/output-files.ts";
import { repair, countUnindexed } from "./repair.ts";
import { verifyHandles, verifyTranscripts } from "./verify-files.ts";

export type VerifyContext = {
  db: Db;
  files: OutputFiles;
  self: LeaseHolder;
  report: VerifyReport;
  problem: (kind: string, subject: string, message: string) => void;
  /** Counts checked rows and yields to the event loop. */
  advance: (count: number) => Promise<void>;
};

export async function verify(
  db: Db,
  files: OutputFiles,
  self: LeaseHolder,
  options: { repair?: boolean; onProgress?: (checked: number) => void },
): Promise<VerifyReport> {
  const report: VerifyReport = { sessions: 0, nodes: 0, turns: 0, handles: 0, transcripts: 0, problems: [] };
  let checked = 0;
  const ctx: VerifyContext = {
    db,
    files,
    self,
    report,
    problem: (kind, subject, message) => report.problems.push({ kind, subject, message } satisfies VerifyProblem),
    advance: async (count) => {
      checked += count;
      options.onProgress?.(checked);
      await yieldToEventLoop();
    },
  };
  if (options.repair) {
    const { repaired, problems } = await repair(db, files, self);
    report.repaired = repaired;
    report.problems.push(...problems);
  }
  for (const [kind, step] of steps) {
    try {
      await step(ctx);
    } catch (error) {
      ctx.problem(kind, db.path, `The check of every ${kind} stopped: ${messageOf(error)}`);
    }
  }
  return report;
}

/** A damaged page ends the step that reads it, not the whole check. */
const steps: readonly (readonly [string, (ctx: VerifyContext) => Promise<void>])[] = [
  ["database", verifyPages],
  ["node", verifyNodes],
  ["session", verifySessions],
  ["turn", verifyTurns],
  ["search", verifyWords],
  ["handle", verifyHandles],
  ["transcript", verifyTranscripts],
];

async function verifyWords({ db, problem, advance }: VerifyContext): Promise<void> {
  const difference = countUnindexed(db);
  if (difference !== 0)
    problem("search", db.path, `The full-text index differs by ${Math.abs(difference)} nodes; \`skein verify --repair\` rebuilds it.`);
  await advance(0);
}

/** The database file, including the full-text index. */
async function verifyPages({ db, problem, advance }: VerifyContext): Promise<void> {
  for (const row of db.query<{ quick_check: string }>("pragma quick_check(20)").all()) {
    if (row.quick_check !== "ok") problem("database", db.path, row.quick_check);
  }
  await advance(0);
}

const batchSize = 2000;

type NodeFault = { n: number; id: string; parent: number | null; fault: string };

async function verifyNodes({ db, report, problem, advance }: VerifyContext): Promise<void> {
  const page = db.query<{ count: number; last: number | null }>(
    "select count(*) as count, max(n) as last from (select n from nodes where n > ? order by n limit ?)",
  );
  const faults = db.query<NodeFault>(
    `select c.n, c.id, c.parent, case
       when tr.n is null then 'belongs to a missing tree'
       when c.n - tr.n * ${nodesPerTree} > tr.last then 'has a number past the end of its tree'
       when s.n is null then 'belongs to a missing session'
       when s.tree <> tr.n then 'is in another tree than its session'
       when c.parent is not null and p.n is null then 'has a missing parent'
       when p.n >= c.n or p.n / ${nodesPerTree} <> tr.n then 'has a parent that is younger or in another tree'
       when c.turn is not null and t.n is null then 'belongs to a missing turn'
       when t.session <> c.session then 'belongs to a turn of another session'
       when not json_valid(c.body) then 'has a body that is not JSON' end as fault
     from nodes c left join trees tr on tr.n = c.n / ${nodesPerTree} left join sessions s on s.n = c.session
       left join nodes p on p.n = c.parent left join turns t on t.n = c.turn
     where c.n > ? and c.n <= ? and fault is not null order by c.n`,
  );
  for (let after = 0; ;) {
    const { count, last } = page.get(after, batchSize)!;
    if (last === null) return;
    for (const row of faults.all(after, last)) problem("node", row.id, `Node ${row.id} ${row.fault}.`);
    report.nodes += count;
    after = last;
    await advance(count);
  }
}

type SessionFault = { n: number; id: string; purged: number; tip: number | null; seq: number; fault: string | null };

async function verifySessions(ctx: VerifyContext): Promise<void> {
  const { db, report, problem, advance } = ctx;
  const sessions = db
    .query<SessionFault>(
      `select s.n, s.id, s.tip, s.seq, s.purged_at is not null as purged, case
         when t.n is null then 'belongs to a missing tree'
         when s.tip is not null and p.n is null then 'points at a missing node'
         when p.n / ${nodesPerTree} <> s.tree then 'points at a node of another tree' end as fault
       from sessions s left join trees t on t.n = s.tree left join nodes p on p.n = s.tip order by s.n`,
    )
    .all();
  for (const row of sessions) {
    if (row.fault !== null) problem("session", row.id, `Session ${row.id} ${row.fault}.`);
    report.sessions += row.purged ? 0 : 1;
    await advance(verifyEvents(ctx, row));
  }
  const orphans = db.query<{ session: number }>("select session from leases where session not in (select n from sessions)").all();
  for (const row of orphans) problem("lease", String(row.session), `A lease is held on session row ${row.session}, which is missing.`);
}

const { "node.added": added, "queue.changed": queued, "ask.opened": opened, "ask.closed": closed } = eventKinds;

type EventFault = { seq: number; fault: string };

/** Events must be numbered without a gap and refer to rows that exist. */
function verifyEvents({ db, problem }: VerifyContext, session: SessionFault): number {
  const faults = db
    .query<EventFault>(
      `select e.seq, case
         when e.kind = ${added} and c.n is null then 'refers to a missing node'
         when e.kind = ${added} and c.session <> e.session then 'refers to a node of another session'
         when e.kind not in (${added}, ${queued}) and t.n is null then 'refers to a missing turn'
         when e.kind in (${opened}, ${closed}) and a.n is null then 'refers to a missing question' end as fault
       from events e left join nodes c on c.n = e.node left join turns t on t.n = e.turn left join asks a on a.n = e.item
       where e.session = ? and e.seq <= ? and fault is not null order by e.seq`,
    )
    .all(session.n, session.seq);
  for (const row of faults) problem("event", `${session.id}/${row.seq}`, `Event ${row.seq} of session ${session.id} ${row.fault}.`);
  const { count } = db
    .query<{ count: number }>("select count(*) as count from events where session = ? and seq <= ?")
    .get(session.n, session.seq)!;
  if (count !== session.seq) {
    problem("event", session.id, `Session ${session.id} has ${count} of its ${session.seq} events.`);
  }
  return count;
}

type TurnFault = { n: number; id: string; fault: string | null };

async function verifyTurns({ db, report, problem, advance }: VerifyContext): Promise<void> {
  const page = db.query<TurnFault>(
    `select t.n, t.id, case
       when s.n is null then 'belongs to a missing session'
       when (t.ended_at is null) <> (t.status is null) then 'has an end without a status, or a status without an end'
       when t.parent is not null and a.n is null then 'starts at a missing node'
       when t.tip is not null and b.n is null then 'ends at a missing node'
       when b.turn <> t.n then 'ends at a node of another turn'
       when not json_valid(t.policy) then 'has a policy that is not JSON' end as fault
     from turns t left join sessions s on s.n = t.session left join nodes a on a.n = t.parent left join nodes b on b.n = t.tip
     where t.n > ? order by t.n limit ?`,
  );
  for (let after = 0; ;) {
    const turns = page.all(after, batchSize);
    if (turns.length === 0) return;
    for (const row of turns) if (row.fault !== null) problem("turn", row.id, `Turn ${row.id} ${row.fault}.`);
    report.turns += turns.length;
    after = turns.at(-1)!.n;
    await advance(turns.length);
  }
}
