// Looks through the whole store for anything that does not hold together. Only reads, and in pieces, so that
// writers are never kept waiting; what is added meanwhile is left for the next time.
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
  /** Counts what was looked at, and lets others run. */
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
  const inspection: VerifyContext = {
    db,
    files,
    self,
    report,
    problem: (kind, subject, message) => report.problems.push({ kind, subject, message } satisfies VerifyProblem),
    advance: async (count) => {
      checked += count;
      options.onProgress?.(checked);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  if (options.repair) {
    const { repaired, problems } = await repair(db, files, self);
    report.repaired = repaired;
    report.problems.push(...problems);
  }
  for (const [kind, step] of steps) {
    try {
      await step(inspection);
    } catch (error) {
      inspection.problem(kind, db.path, `The check of every ${kind} stopped: ${messageOf(error)}`);
    }
  }
  return report;
}

/** A damaged page ends the step that comes to it, not the whole check. */
const steps: readonly (readonly [string, (inspection: VerifyContext) => Promise<void>])[] = [
  ["database", verifyPages],
  ["node", verifyNodes],
  ["session", verifySessions],
  ["turn", verifyTurns],
  ["search", verifyWords],
  ["handle", verifyHandles],
  ["transcript", verifyTranscripts],
];

async function verifyWords({ db, problem, advance }: VerifyContext): Promise<void> {
  const off = countUnindexed(db);
  if (off !== 0)
    problem("search", db.path, `The full-text index is off by ${Math.abs(off)} nodes; \`skein verify --repair\` makes it again.`);
  await advance(0);
}

/** The file itself, with the full-text index in it. */
async function verifyPages({ db, problem, advance }: VerifyContext): Promise<void> {
  for (const row of db.query<{ quick_check: string }>("pragma quick_check(20)").all()) {
    if (row.quick_check !== "ok") problem("database", db.path, row.quick_check);
  }
  await advance(0);
}

const batch = 2000;

type NodeFault = { n: number; id: string; parent: number | null; fault: string };

async function verifyNodes({ db, report, problem, advance }: VerifyContext): Promise<void> {
  const page = db.query<{ count: number; last: number | null }>(
    "select count(*) as count, max(n) as last from (select n from nodes where n > ? order by n limit ?)",
  );
  const faults = db.query<NodeFault>(
    `select c.n, c.id, c.parent, case
       when tr.n is null then 'belongs to a tree that is not there'
       when c.n - tr.n * ${nodesPerTree} > tr.last then 'lies past the end of its tree'
       when s.n is null then 'belongs to a session that is not there'
       when s.tree <> tr.n then 'lies in another tree than its session'
       when c.parent is not null and p.n is null then 'has a parent that is not there'
       when p.n >= c.n or p.n / ${nodesPerTree} <> tr.n then 'has a parent that is younger or in another tree'
       when c.turn is not null and t.n is null then 'belongs to a turn that is not there'
       when t.session <> c.session then 'belongs to a turn of another session'
       when not json_valid(c.body) then 'has a body that is no JSON' end as fault
     from nodes c left join trees tr on tr.n = c.n / ${nodesPerTree} left join sessions s on s.n = c.session
       left join nodes p on p.n = c.parent left join turns t on t.n = c.turn
     where c.n > ? and c.n <= ? and fault is not null order by c.n`,
  );
  for (let after = 0; ;) {
    const { count, last } = page.get(after, batch)!;
    if (last === null) return;
    for (const row of faults.all(after, last)) problem("node", row.id, `Node ${row.id} ${row.fault}.`);
    report.nodes += count;
    after = last;
    await advance(count);
  }
}

type SessionFault = { n: number; id: string; purged: number; tip: number | null; seq: number; fault: string | null };

async function verifySessions(inspection: VerifyContext): Promise<void> {
  const { db, report, problem, advance } = inspection;
  const sessions = db
    .query<SessionFault>(
      `select s.n, s.id, s.tip, s.seq, s.purged_at is not null as purged, case
         when t.n is null then 'belongs to a tree that is not there'
         when s.tip is not null and p.n is null then 'points at a node that is not there'
         when p.n / ${nodesPerTree} <> s.tree then 'points at a node of another tree' end as fault
       from sessions s left join trees t on t.n = s.tree left join nodes p on p.n = s.tip order by s.n`,
    )
    .all();
  for (const row of sessions) {
    if (row.fault !== null) problem("session", row.id, `Session ${row.id} ${row.fault}.`);
    report.sessions += row.purged ? 0 : 1;
    await advance(verifyEvents(inspection, row));
  }
  const lost = db.query<{ session: number }>("select session from leases where session not in (select n from sessions)").all();
  for (const row of lost) problem("lease", String(row.session), `A lease is held on session row ${row.session}, which is not there.`);
}

const { "node.added": added, "queue.changed": queued, "ask.opened": opened, "ask.closed": closed } = eventKinds;

type EventFault = { seq: number; fault: string };

/** Numbered without a gap, each telling of something that is there, each node told once. */
function verifyEvents({ db, problem }: VerifyContext, session: SessionFault): number {
  const bad = db
    .query<EventFault>(
      `select e.seq, case
         when e.kind = ${added} and c.n is null then 'tells of a node that is not there'
         when e.kind = ${added} and c.session <> e.session then 'tells of a node of another session'
         when e.kind not in (${added}, ${queued}) and t.n is null then 'tells of a turn that is not there'
         when e.kind in (${opened}, ${closed}) and a.n is null then 'tells of a question that is not there' end as fault
       from events e left join nodes c on c.n = e.node left join turns t on t.n = e.turn left join asks a on a.n = e.item
       where e.session = ? and e.seq <= ? and fault is not null order by e.seq`,
    )
    .all(session.n, session.seq);
  for (const row of bad) problem("event", `${session.id}/${row.seq}`, `Event ${row.seq} of session ${session.id} ${row.fault}.`);
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
       when s.n is null then 'belongs to a session that is not there'
       when (t.ended_at is null) <> (t.status is null) then 'ended without a status, or has one without an end'
       when t.parent is not null and a.n is null then 'began at a node that is not there'
       when t.tip is not null and b.n is null then 'ends at a node that is not there'
       when b.turn <> t.n then 'ends at a node of another turn'
       when not json_valid(t.policy) then 'has a policy that is no JSON' end as fault
     from turns t left join sessions s on s.n = t.session left join nodes a on a.n = t.parent left join nodes b on b.n = t.tip
     where t.n > ? order by t.n limit ?`,
  );
  for (let after = 0; ;) {
    const turns = page.all(after, batch);
    if (turns.length === 0) return;
    for (const row of turns) if (row.fault !== null) problem("turn", row.id, `Turn ${row.id} ${row.fault}.`);
    report.turns += turns.length;
    after = turns.at(-1)!.n;
    await advance(turns.length);
  }
}
