// Takes archived sessions away for good. A session is hidden first, then its rows go in small transactions, so that no
// writer waits and a purge that was killed is finished by the next one. A node stays while any other session needs it:
// its session and turn then stay as hidden rows. Every step leaves a store that `verify` finds whole.
import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { PurgeReport } from "../../../protocol/api/api.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import type { Db } from "../db.ts";
import { errorCode } from "../faults.ts";
import { type LeaseHolder, isHeld } from "../lease.ts";
import type { OutputFiles } from "../outputs/output-files.ts";
import { remainingNodes, referencedOutputs, planTreePurge, purgeNodes, type TreePurgePlan } from "./purge-nodes.ts";
import { sessionRow } from "../rows/session-row.ts";
import type { PurgeRequest } from "../../store.ts";

type SessionToPurge = {
  n: number;
  id: string;
  name: string | null;
  project: string;
  tree: number;
  transcript: string | null;
  archived_at: number;
};

export type PurgeDirectories = { outputs: OutputFiles; agentsDir: string | null };

export async function purge(
  db: Db,
  { outputs: files, agentsDir }: PurgeDirectories,
  self: LeaseHolder,
  request: PurgeRequest,
): Promise<PurgeReport> {
  const report: PurgeReport = {
    dryRun: request.dryRun,
    sessions: [],
    skipped: [],
    nodes: 0,
    keptNodes: 0,
    turns: 0,
    outputs: 0,
    transcripts: 0,
    bytes: 0,
    problems: [],
  };
  const hidden = hiddenSessions(db);
  const chosen = choose(db, self, request, report).filter((session) => request.dryRun || hide(db, self, session, report));
  report.sessions = chosen.map(({ id, name, project, archived_at }) => ({ id, name, project, archivedAt: archived_at }));
  const going = [...hidden, ...chosen];
  const plans = new Map<number, TreePurgePlan>();
  for (const tree of new Set(going.map((session) => session.tree))) {
    const sessions = going.filter((session) => session.tree === tree).map((session) => session.n);
    if (!request.dryRun) for (const session of going) if (session.tree === tree) await dropEvents(db, session);
    const plan = planTreePurge(db, tree, new Set(sessions));
    plans.set(tree, plan);
    report.bytes += plan.bytes;
    const gone = request.dryRun ? plan.nodes.length : await purgeNodes(db, tree, plan);
    report.nodes += gone;
    report.keptNodes += plan.written - gone;
  }
  const leaving = new Set(request.dryRun ? [...plans.values()].flatMap((plan) => plan.nodes) : []);
  const needed = await referencedOutputs(db, going, leaving);
  for (const session of going) {
    dropTranscript({ db, files, report, needed, dryRun: request.dryRun }, session);
    await dropOutputs({ db, files, report, needed, dryRun: request.dryRun }, session);
    if (request.dryRun) report.turns += turnsOf(db, session.n).length - (plans.get(session.tree)?.keptTurns.get(session.n) ?? 0);
    else report.turns += await dropTurns(db, session);
  }
  for (const tree of request.dryRun ? [] : plans.keys()) {
    if (agentsDir !== null) dropAgentFiles({ db, self, report, agentsDir }, tree);
    db.write(() => db.query("delete from trees where n = ?1 and not exists (select 1 from sessions where tree = ?1)").run(tree));
  }
  return report;
}

/** The named session, or every one that was archived long enough ago; the sub-sessions that were left alone since go along. */
function choose(db: Db, self: LeaseHolder, request: PurgeRequest, report: PurgeReport): SessionToPurge[] {
  const found = request.session === null ? archivedBefore(db, request.archivedBefore) : [named(db, request)];
  return withSubSessions(db, found).filter((session) => {
    if (!isHeld(db, session.n, self)) return true;
    if (session.id === request.session) throw running(session);
    report.skipped.push({ id: session.id, name: session.name, reason: "it is in use" });
    return false;
  });
}

const columns = "n, id, name, project, tree, transcript, archived_at";

function archivedBefore(db: Db, at: number): SessionToPurge[] {
  return db
    .query<SessionToPurge>(
      `select ${columns} from sessions where archived_at is not null and archived_at <= ? and purged_at is null order by n`,
    )
    .all(at);
}

function named(db: Db, request: PurgeRequest): SessionToPurge {
  const row = sessionRow(db, request.session ?? "");
  const label = row.name ?? row.id;
  if (row.archived_at === null) {
    throw new Fault("usage", `Session ${label} is not archived, so it can't be purged.`, {
      hint: `Archive it first: skein delete ${label}`,
    });
  }
  if (row.archived_at > request.archivedBefore) {
    throw new Fault("usage", `Session ${label} was archived only on ${new Date(row.archived_at).toISOString()}.`, {
      hint: "Leave --older-than out to purge it now.",
    });
  }
  return { ...row, archived_at: row.archived_at };
}

function running(session: SessionToPurge): Fault {
  return new Fault("session-busy", `Session ${session.name ?? session.id} is in use, so it can't be purged.`, {
    hint: "Wait for it to end, then purge again.",
  });
}

/** What executes a plan is linked to the session that planned it, but stands on its own. */
function withSubSessions(db: Db, sessions: SessionToPurge[]): SessionToPurge[] {
  const below = db.query<SessionToPurge>(
    `select n, id, name, project, tree, transcript, coalesce(archived_at, ?2) as archived_at from sessions
     where parent_session = ?1 and plan is null and purged_at is null and (archived_at is not null or updated_at <= ?2) order by n`,
  );
  const all = new Map(sessions.map((session) => [session.n, session]));
  for (const session of all.values())
    for (const child of below.all(session.id, session.archived_at)) if (!all.has(child.n)) all.set(child.n, child);
  return [...all.values()];
}

/** Sessions that an earlier purge took: some of their nodes were needed then, or it was killed. */
function hiddenSessions(db: Db): SessionToPurge[] {
  return db.query<SessionToPurge>(`select ${columns} from sessions where purged_at is not null order by n`).all();
}

/** From here on the session is gone for everyone. False when it was restored, taken up or purged meanwhile. */
function hide(db: Db, self: LeaseHolder, session: SessionToPurge, report: PurgeReport): boolean {
  const isHidden = db.write(() => {
    if (isHeld(db, session.n, self)) return false;
    const { changes } = db
      .query(
        `update sessions set purged_at = ?1, archived_at = coalesce(archived_at, ?1), name = null, tip = null, plan = null
         where n = ?2 and purged_at is null and (archived_at = ?3 or (archived_at is null and updated_at <= ?3))`,
      )
      .run(Date.now(), session.n, session.archived_at);
    if (changes === 0) return false;
    for (const table of ["leases", "asks", "inputs", "descriptions"]) db.query(`delete from ${table} where session = ?`).run(session.n);
    db.query("delete from drafts where turn in (select n from turns where session = ?)").run(session.n);
    db.query("update turns set parent = null, tip = null where session = ?").run(session.n);
    return true;
  });
  if (!isHidden) report.skipped.push({ id: session.id, name: session.name, reason: "it was taken up again meanwhile" });
  return isHidden;
}

const batch = 500;

async function dropEvents(db: Db, session: SessionToPurge): Promise<void> {
  for (let left = 1; left > 0;) {
    left = db.write(() => {
      const seq = seqIfHidden(db, session);
      if (seq === null) return 0;
      const rest = Math.max(0, seq - batch);
      db.query("delete from events where session = ? and seq > ?").run(session.n, rest);
      db.query("update sessions set seq = ? where n = ?").run(rest, session.n);
      return rest;
    });
    await yieldToEventLoop();
  }
}

/** Null when another purge was faster. Then the row may already be another session: rows are used again. */
function seqIfHidden(db: Db, session: SessionToPurge): number | null {
  const row = db
    .query<{ seq: number }>("select seq from sessions where n = ? and id = ? and purged_at is not null")
    .get(session.n, session.id);
  return row?.seq ?? null;
}

/** Turns that a kept node belongs to stay, between the nodes that are left of them. With the last one the session goes. */
async function dropTurns(db: Db, session: SessionToPurge): Promise<number> {
  const gone = db.write(() => {
    if (seqIfHidden(db, session) === null) return 0;
    const left = remainingNodes(db, session);
    const mend = db.query("update turns set parent = ?, tip = ? where n = ?");
    for (const [turn, { parent, tip }] of left.turns) mend.run(parent, tip, turn);
    const unused = turnsOf(db, session.n).filter((turn) => !left.turns.has(turn));
    for (const turn of unused) db.query("delete from turns where n = ?").run(turn);
    const hasOutputs = db.query("select 1 from handles where session = ?").get(session.n) !== null;
    if (left.count === 0 && !hasOutputs) db.query("delete from sessions where n = ? and seq = 0").run(session.n);
    return unused.length;
  });
  await yieldToEventLoop();
  return gone;
}

function turnsOf(db: Db, session: number): number[] {
  return db
    .query<{ n: number }>("select n from turns where session = ?")
    .all(session)
    .map(({ n }) => n);
}

/**
 * What other agents keep of a tree can't be told apart by sessions. Without it a session that is left is told by a brief
 * again; while one of them is in use it stays, and goes with the next purge.
 */
function dropAgentFiles(
  { db, self, report, agentsDir }: { db: Db; self: LeaseHolder; report: PurgeReport; agentsDir: string },
  tree: number,
): void {
  const id = db.query<{ id: string }>("select id from trees where n = ?").get(tree)?.id;
  const sessions = db.query<{ n: number }>("select n from sessions where tree = ?").all(tree);
  if (id === undefined || sessions.some(({ n }) => isHeld(db, n, self))) return;
  try {
    rmSync(join(agentsDir, id), { recursive: true, force: true });
  } catch (error) {
    report.problems.push(`What other agents kept in ${join(agentsDir, id)} can't be removed: ${messageOf(error)}`);
  }
}

type PurgeStep = { db: Db; files: OutputFiles; report: PurgeReport; needed: ReadonlySet<string>; dryRun: boolean };

function dropTranscript({ db, report, dryRun }: PurgeStep, session: SessionToPurge): void {
  if (session.transcript === null) return;
  try {
    report.bytes += statSync(session.transcript).size;
    if (!dryRun) rmSync(session.transcript);
    report.transcripts += 1;
    for (const log of logsBeside(session.transcript)) {
      report.bytes += statSync(log).size;
      if (!dryRun) rmSync(log);
    }
  } catch (error) {
    if (errorCode(error) !== "ENOENT") report.problems.push(`The transcript ${session.transcript} can't be removed: ${messageOf(error)}`);
  }
  if (!dryRun) db.write(() => db.query("update sessions set transcript = null where n = ? and id = ?").run(session.n, session.id));
}

/** What another agent's program printed. */
function logsBeside(transcript: string): string[] {
  const [folder, name] = [dirname(transcript), `${basename(transcript, ".jsonl")}.`];
  const isLog = (file: string) => file.startsWith(name) && /\.(stdout|stderr)\.log$/.test(file);
  return readdirSync(folder)
    .filter(isLog)
    .map((file) => join(folder, file));
}

/** The row goes before the file: a file without a row is found by `verify --repair`. */
async function dropOutputs({ db, files, report, needed, dryRun }: PurgeStep, session: SessionToPurge): Promise<void> {
  const outputs = db
    .query<{ n: number; bytes: number | null }>("select n, kept_bytes as bytes from handles where session = ?")
    .all(session.n);
  for (const { n, bytes } of outputs) {
    const identifier = `${session.id}/${n}`;
    if (needed.has(identifier)) continue;
    report.outputs += 1;
    report.bytes += bytes ?? 0;
    if (dryRun) continue;
    db.write(() => seqIfHidden(db, session) !== null && db.query("delete from handles where session = ? and n = ?").run(session.n, n));
    try {
      files.remove(identifier);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") report.problems.push(`The output ${identifier} can't be removed: ${messageOf(error)}`);
    }
    await yieldToEventLoop();
  }
  if (!dryRun) files.removeEmpty(session.id);
}

function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
