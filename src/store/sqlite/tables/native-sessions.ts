// Where another agent's own session may go on: the one query behind resuming and forking. Its latest turn must have
// ended exactly at our node, in the same directory; anything else would leak one branch into another.
import type { NativeStart } from "../../../protocol/tree/turn.ts";
import type { Db } from "../db.ts";
import type { WriteTarget } from "../lease.ts";

type Candidate = { n: number; native_id: string; status: string; parent: number | null };

/** Asked in the transaction that starts the turn: what it resumes is claimed there. */
export function findNativeStart(db: Db, target: WriteTarget, agent: string, { canFork }: { canFork: boolean }): NativeStart | null {
  if (target.tip === null) return null;
  const found = latestAt(db, target, agent, target.tip);
  if (found === null) return null;
  if (found.status !== "ok") return { how: "resume", id: found.native_id, unsure: { since: lastCertain(db, agent, found) } };
  return { how: canFork && (isShared(db, target) || isBeingForked(db, target, agent)) ? "fork" : "resume", id: found.native_id };
}

/** A fork leaves the original where it is. */
export function claimedNativeId(native: NativeStart | null): string | null {
  return native?.how === "resume" ? native.id : null;
}

/** Of turns that were imported the id is provenance only. */
function latestAt(db: Db, target: WriteTarget, agent: string, tip: number): Candidate | null {
  return db
    .query<Candidate>(
      `select t.n, t.native_id, t.status, t.parent from turns t join sessions s on s.n = t.session
       where t.tip = ?1 and t.agent = ?2 and t.native_id is not null and t.source is null and t.ended_at is not null
         and s.directory = (select directory from sessions where n = ?3)
         and not exists (select 1 from turns later where later.native_id = t.native_id and later.n > t.n)
       order by t.n desc limit 1`,
    )
    .get(tip, agent, target.n);
}

/** The node before the turns that ended early; null is before everything. */
function lastCertain(db: Db, agent: string, failed: Candidate): string | null {
  let { parent } = failed;
  for (;;) {
    const before: Candidate | null =
      parent === null
        ? null
        : db
            .query<Candidate>("select n, native_id, status, parent from turns where tip = ? and agent = ? and native_id = ?")
            .get(parent, agent, failed.native_id);
    // It began with the turn that failed: it may hold nothing at all.
    if (before === null) return null;
    if (before.status === "ok") break;
    parent = before.parent;
  }
  return parent === null ? null : (db.query<{ id: string }>("select id from nodes where n = ?").get(parent)?.id ?? null);
}

function isShared(db: Db, target: WriteTarget): boolean {
  const others = db
    .query<{ n: number }>("select n from sessions where tree = ? and tip = ? and n <> ? and purged_at is null limit 1")
    .get(target.tree, target.tip, target.n);
  return others !== null;
}

/** Whoever has begun to fork it may not have read it yet: what we added to it would be in the fork. */
function isBeingForked(db: Db, target: WriteTarget, agent: string): boolean {
  const running = db
    .query<{ n: number }>("select n from turns where parent = ? and agent = ? and session <> ? and ended_at is null limit 1")
    .get(target.tip, agent, target.n);
  return running !== null;
}
