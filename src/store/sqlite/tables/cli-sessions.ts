// Decides whether a turn resumes, forks or restarts the external agent's own session.
// A CLI session fits only if its latest turn ended exactly at our node, in the same directory.
// Any other session would leak one branch into another.
import type { CliSessionStart } from "../../../protocol/tree/turn.ts";
import type { Db } from "../db.ts";
import type { WriteTarget } from "../lease.ts";
import { idOf } from "../rows/node-row.ts";

type Candidate = { n: number; native_id: string; status: string; parent: number | null };

/** Call it in the transaction that starts the turn: that transaction claims the session to resume. */
export function findCliSession(db: Db, target: WriteTarget, agent: string, { canFork }: { canFork: boolean }): CliSessionStart | null {
  if (target.tip === null) return null;
  const latest = latestAt(db, target, agent, target.tip);
  if (latest === null) return null;
  if (!isComplete(latest)) {
    const nodesAfter = lastCompleteNode(db, agent, latest);
    const unanswered = isRefused(latest) ? unansweredPrompt(db, target.tip) : null;
    // The CLI's session has nothing but the prompt, and would get it a second time.
    if (nodesAfter === null && unanswered !== null) return null;
    return { how: "resume", id: latest.native_id, mayLack: { nodesAfter, ...(unanswered === null ? {} : { unanswered }) } };
  }
  return { how: canFork && (isShared(db, target) || isBeingForked(db, target, agent)) ? "fork" : "resume", id: latest.native_id };
}

/** The agent's part of a turn whose check failed has ended well. */
function isComplete({ status }: Candidate): boolean {
  return status === "ok" || status === "check-failed";
}

/** Only a refused request proves that the CLI has read the prompt. A turn that was killed may have ended before. */
function isRefused({ status }: Candidate): boolean {
  return status === "rate-limited" || status === "overloaded";
}

/** The id of the node if it is a prompt: the turn that ended there recorded no answer to it. */
function unansweredPrompt(db: Db, tip: number): string | null {
  return db.row<{ id: string }>`select id from nodes where n = ${tip} and json_extract(body, '$.author') = 'user'`?.id ?? null;
}

/** A fork claims nothing: the original session stays as it is. */
export function claimedNativeId(cliSession: CliSessionStart | null): string | null {
  return cliSession?.how === "resume" ? cliSession.id : null;
}

/** Leaves imported turns out: their native id only names their origin. */
function latestAt(db: Db, target: WriteTarget, agent: string, tip: number): Candidate | null {
  return db.row<Candidate>`
    select t.n, t.native_id, t.status, t.parent from turns t join sessions s on s.n = t.session
    where t.tip = ${tip} and t.agent = ${agent} and t.native_id is not null and t.source is null and t.ended_at is not null
      and s.directory = (select directory from sessions where n = ${target.n})
      and not exists (select 1 from turns later where later.native_id = t.native_id and later.n > t.n)
    order by t.n desc limit 1`;
}

/** The last node before the turns that ended early. Null if there is none. */
function lastCompleteNode(db: Db, agent: string, failed: Candidate): string | null {
  for (let { parent } = failed; ;) {
    const previous: Candidate | null = db.row<Candidate>`
      select n, native_id, status, parent from turns where tip = ${parent} and agent = ${agent} and native_id = ${failed.native_id}`;
    // The CLI session began with the turn that failed, so it may be empty.
    if (previous === null || parent === null) return null;
    if (isComplete(previous)) return idOf(db, "nodes", parent);
    parent = previous.parent;
  }
}

/** Whether another session has its tip at the same node. */
function isShared(db: Db, { n, tree, tip }: WriteTarget): boolean {
  return db.row`select 1 from sessions where tree = ${tree} and tip = ${tip} and n <> ${n} and purged_at is null limit 1` !== null;
}

/** Whether a running turn may fork the CLI session and has not read it yet. Text that we add now would be in that fork. */
function isBeingForked(db: Db, { n, tip }: WriteTarget, agent: string): boolean {
  return db.row`select 1 from turns where parent = ${tip} and agent = ${agent} and session <> ${n} and ended_at is null limit 1` !== null;
}
