// Deletes archived sessions for good. A session is first marked as purged, which hides it. Then its rows are deleted in small transactions:
// no writer waits, and the next purge finishes a purge that was killed. A node stays while another session needs it;
// the rows of its session and turn then stay too. After every transaction `verify` finds no problem.
import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { yieldToEventLoop } from "../../../kit/flow/time-slice.ts";
import type { PurgeReport } from "../../../protocol/api/api.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import type { Db } from "../db.ts";
import { errorCode } from "../faults.ts";
import { isHeld, type LeaseHolder } from "../lease.ts";
import type { OutputFiles } from "../outputs/output-files.ts";
import { remainingNodes, referencedOutputs, planTreePurge, purgeNodes, type TreePurgePlan } from "./purge-nodes.ts";
import { type SessionRow, sessionRow } from "../rows/session-row.ts";
import { Sql } from "../sql.ts";
import type { PurgeRequest } from "../../store.ts";

type SessionToPurge = Pick<SessionRow, "n" | "id" | "name" | "project" | "tree" | "transcript"> & { archived_at: number };

export type PurgeDirectories = { outputs: OutputFiles; agentsDir: string | null };

type PurgeContext = PurgeDirectories & { db: Db; self: LeaseHolder; request: PurgeRequest; report: PurgeReport };

export async function purge(db: Db, directories: PurgeDirectories, self: LeaseHolder, request: PurgeRequest): Promise<PurgeReport> {
  const { dryRun } = request;
  const counts = { nodes: 0, keptNodes: 0, turns: 0, outputs: 0, transcripts: 0, bytes: 0 };
  const report: PurgeReport = { dryRun, sessions: [], skipped: [], ...counts, problems: [] };
  const ctx: PurgeContext = { ...directories, db, self, request, report };
  const purgedEarlier = purgedSessions(db);
  const chosen: SessionToPurge[] = [];
  for (const session of chooseSessions(ctx)) if (dryRun || (await markPurged(ctx, session))) chosen.push(session);
  report.sessions = chosen.map(({ id, name, project, archived_at }) => ({ id, name, project, archivedAt: archived_at }));
  const sessionsToPurge = [...purgedEarlier, ...chosen];
  const plans = new Map<number, TreePurgePlan>();
  for (const [tree, sessions] of Map.groupBy(sessionsToPurge, (session) => session.tree)) {
    if (!dryRun) for (const session of sessions) await deleteEvents(db, session);
    const plan = planTreePurge(db, tree, new Set(sessions.map((session) => session.n)));
    plans.set(tree, plan);
    report.bytes += plan.bytes;
    const deleted = dryRun ? plan.nodes.length : await purgeNodes(db, tree, plan);
    report.nodes += deleted;
    report.keptNodes += plan.nodesOfSessions - deleted;
  }
  const nodesToDelete = new Set(dryRun ? [...plans.values()].flatMap((plan) => plan.nodes) : []);
  const needed = await referencedOutputs(db, sessionsToPurge, nodesToDelete);
  for (const session of sessionsToPurge) {
    await deleteTranscript(ctx, session);
    await deleteOutputs(ctx, session, needed);
    if (dryRun) report.turns += turnsOf(db, session.n).length - (plans.get(session.tree)?.keptTurns.get(session.n) ?? 0);
    else report.turns += await deleteTurns(db, session);
  }
  for (const tree of dryRun ? [] : plans.keys()) {
    deleteAgentFiles(ctx, tree);
    await db.write(() => db.run`delete from trees where n = ${tree} and not exists (select 1 from sessions where tree = ${tree})`);
  }
  return report;
}

/** The requested session, or every session that was archived early enough, with their sub-sessions that were not used since. */
function chooseSessions({ db, self, request, report }: PurgeContext): SessionToPurge[] {
  const archived = request.session === null ? archivedBefore(db, request.archivedBefore) : [requestedSession(db, request)];
  return withSubSessions(db, archived).filter((session) => {
    if (!isHeld(db, session.n, self)) return true;
    if (session.id === request.session)
      throw new Fault("session-busy", `session ${session.name ?? session.id} is in use, so it can't be purged`, {
        hint: "wait until it ends, then purge again",
      });
    report.skipped.push({ id: session.id, name: session.name, reason: "it is in use" });
    return false;
  });
}

function archivedBefore(db: Db, time: number): SessionToPurge[] {
  return db.rows<SessionToPurge>`
    select * from sessions where archived_at is not null and archived_at <= ${time} and purged_at is null order by n`;
}

function requestedSession(db: Db, request: PurgeRequest): SessionToPurge {
  const row = sessionRow(db, request.session ?? "");
  const label = row.name ?? row.id;
  if (row.archived_at === null) {
    throw new Fault("usage", `session ${label} is not archived, so it can't be purged`, {
      hint: `archive it first: skein delete ${label}`,
    });
  }
  if (row.archived_at > request.archivedBefore) {
    throw new Fault("usage", `session ${label} was archived only on ${new Date(row.archived_at).toISOString()}`, {
      hint: "leave --older-than out to purge it now",
    });
  }
  return { ...row, archived_at: row.archived_at };
}

/** A session that executes a plan is linked to the session that planned it, but is no sub-session of it. */
function withSubSessions(db: Db, sessions: SessionToPurge[]): SessionToPurge[] {
  const chosen = new Map(sessions.map((session) => [session.n, session]));
  for (const { id, archived_at } of chosen.values()) {
    const subSessions = db.rows<SessionToPurge>`
      select n, id, name, project, tree, transcript, coalesce(archived_at, ${archived_at}) as archived_at from sessions
      where parent_session = ${id} and plan is null and purged_at is null and (archived_at is not null or updated_at <= ${archived_at})
      order by n`;
    for (const subSession of subSessions) if (!chosen.has(subSession.n)) chosen.set(subSession.n, subSession);
  }
  return [...chosen.values()];
}

/** Sessions of an earlier purge. Other sessions needed some of their nodes then, or the purge was killed. */
function purgedSessions(db: Db): SessionToPurge[] {
  return db.rows<SessionToPurge>`select * from sessions where purged_at is not null order by n`;
}

/** Marks the session, which hides it from every reader. False if it was restored, acquired or purged meanwhile. */
async function markPurged({ db, self, report }: PurgeContext, session: SessionToPurge): Promise<boolean> {
  const isMarked = await db.write(() => {
    if (isHeld(db, session.n, self)) return false;
    const { n, archived_at } = session;
    const now = Date.now();
    const { changes } = db.run`
      update sessions set purged_at = ${now}, archived_at = coalesce(archived_at, ${now}), name = null, tip = null, plan = null
      where n = ${n} and purged_at is null and (archived_at = ${archived_at} or (archived_at is null and updated_at <= ${archived_at}))`;
    if (changes === 0) return false;
    for (const table of ["leases", "asks", "inputs", "descriptions"]) db.run`delete from ${new Sql(table)} where session = ${n}`;
    db.run`delete from drafts where turn in (select n from turns where session = ${n})`;
    db.run`update turns set parent = null, tip = null where session = ${n}`;
    return true;
  });
  if (!isMarked) report.skipped.push({ id: session.id, name: session.name, reason: "it was used again meanwhile" });
  return isMarked;
}

const batchSize = 500;

async function deleteEvents(db: Db, session: SessionToPurge): Promise<void> {
  for (let remaining = 1; remaining > 0;) {
    remaining = await db.write(() => {
      const seq = seqIfPurged(db, session);
      if (seq === null) return 0;
      const lastKept = Math.max(0, seq - batchSize);
      db.run`delete from events where session = ${session.n} and seq > ${lastKept}`;
      db.run`update sessions set seq = ${lastKept} where n = ${session.n}`;
      return lastKept;
    });
    await yieldToEventLoop();
  }
}

/** Null if another purge was faster. The row may then belong to another session: row numbers are reused. */
function seqIfPurged(db: Db, { n, id }: SessionToPurge): number | null {
  const row = db.row<{ seq: number }>`select seq from sessions where n = ${n} and id = ${id} and purged_at is not null`;
  return row?.seq ?? null;
}

/** A turn with remaining nodes stays, with a new parent and tip. A session without turns and outputs is deleted. */
async function deleteTurns(db: Db, session: SessionToPurge): Promise<number> {
  const deleted = await db.write(() => {
    if (seqIfPurged(db, session) === null) return 0;
    const remaining = remainingNodes(db, session);
    for (const [turn, { parent, tip }] of remaining.turns) db.run`update turns set parent = ${parent}, tip = ${tip} where n = ${turn}`;
    const unused = turnsOf(db, session.n).filter((turn) => !remaining.turns.has(turn));
    for (const turn of unused) db.run`delete from turns where n = ${turn}`;
    const hasOutputs = db.row`select 1 from handles where session = ${session.n}` !== null;
    if (remaining.count === 0 && !hasOutputs) db.run`delete from sessions where n = ${session.n} and seq = 0`;
    return unused.length;
  });
  await yieldToEventLoop();
  return deleted;
}

function turnsOf(db: Db, session: number): number[] {
  return db.values<[number]>`select n from turns where session = ${session}`.flat();
}

/**
 * Deletes the data that other agents store of a tree; it can't be divided by session. A remaining session of the tree
 * then sends a brief again. While a session of the tree is in use, the data stays until the next purge.
 */
function deleteAgentFiles({ db, self, report, agentsDir }: PurgeContext, tree: number): void {
  const id = db.row<{ id: string }>`select id from trees where n = ${tree}`?.id;
  const sessions = db.rows<{ n: number }>`select n from sessions where tree = ${tree}`;
  if (agentsDir === null || id === undefined || sessions.some(({ n }) => isHeld(db, n, self))) return;
  try {
    rmSync(join(agentsDir, id), { recursive: true, force: true });
  } catch (error) {
    report.problems.push(`The agent data in ${join(agentsDir, id)} can't be removed: ${messageOf(error)}`);
  }
}

async function deleteTranscript({ db, report, request: { dryRun } }: PurgeContext, session: SessionToPurge): Promise<void> {
  if (session.transcript === null) return;
  try {
    for (const file of [session.transcript, ...logsBeside(session.transcript)]) {
      report.bytes += statSync(file).size;
      if (!dryRun) rmSync(file);
    }
    report.transcripts += 1;
  } catch (error) {
    if (errorCode(error) !== "ENOENT") report.problems.push(`The transcript ${session.transcript} can't be removed: ${messageOf(error)}`);
  }
  if (!dryRun) await db.write(() => db.run`update sessions set transcript = null where n = ${session.n} and id = ${session.id}`);
}

/** The stdout and stderr logs of external agents. */
function logsBeside(transcript: string): string[] {
  const [directory, prefix] = [dirname(transcript), `${basename(transcript, ".jsonl")}.`];
  const isLog = (file: string) => file.startsWith(prefix) && /\.(stdout|stderr)\.log$/.test(file);
  return readdirSync(directory)
    .filter(isLog)
    .map((file) => join(directory, file));
}

/** Deletes the row before the file: `verify --repair` finds a file without a row. */
async function deleteOutputs(ctx: PurgeContext, session: SessionToPurge, needed: ReadonlySet<string>): Promise<void> {
  const { db, outputs: files, report } = ctx;
  const { dryRun } = ctx.request;
  const outputs = db.rows<{ n: number; bytes: number | null }>`select n, kept_bytes as bytes from handles where session = ${session.n}`;
  for (const { n, bytes } of outputs) {
    const identifier = `${session.id}/${n}`;
    if (needed.has(identifier)) continue;
    report.outputs += 1;
    report.bytes += bytes ?? 0;
    if (dryRun) continue;
    await db.write(() => seqIfPurged(db, session) !== null && db.run`delete from handles where session = ${session.n} and n = ${n}`);
    try {
      files.remove(identifier);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") report.problems.push(`The output ${identifier} can't be removed: ${messageOf(error)}`);
    }
    await yieldToEventLoop();
  }
  if (!dryRun) files.removeDirectoryIfEmpty(session.id);
}
