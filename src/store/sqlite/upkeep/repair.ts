// Repairs damage from intact data: leases of dead processes, the full-text index, transcripts, files without a row,
// the write-ahead log. Changes no stored node. `verify` lists the damage that can't be repaired.
import { yieldToEventLoop } from "../../../kit/flow/time-slice.ts";
import type { VerifyProblem } from "../../../protocol/api/api.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import type { Db } from "../db.ts";
import { type LeaseHolder, isHeld } from "../lease.ts";
import type { OutputFiles } from "../outputs/output-files.ts";
import { repairTranscripts } from "./repair-transcripts.ts";
import { indexSome } from "../search/search.ts";

export type RepairContext = {
  db: Db;
  files: OutputFiles;
  self: LeaseHolder;
  onRepaired: (kind: string, subject: string, message: string) => void;
};

type Repair = { repaired: VerifyProblem[]; problems: VerifyProblem[] };

export async function repair(db: Db, files: OutputFiles, self: LeaseHolder): Promise<Repair> {
  const repaired: VerifyProblem[] = [];
  const problems: VerifyProblem[] = [];
  const ctx: RepairContext = {
    db,
    files,
    self,
    onRepaired: (kind, subject, message) => repaired.push({ kind, subject, message }),
  };
  for (const [kind, step] of steps) {
    try {
      await step(ctx);
    } catch (error) {
      problems.push({ kind, subject: db.path, message: `Repair stopped: ${messageOf(error)}` });
    }
  }
  return { repaired, problems };
}

const steps: readonly (readonly [string, (ctx: RepairContext) => void | Promise<void>])[] = [
  ["lease", releaseDead],
  ["search", rebuildWords],
  ["transcript", repairTranscripts],
  ["output", removeOrphans],
  ["database", copyLogBack],
];

/** A running holder keeps its lease. A holder that came meanwhile has another epoch. */
function releaseDead({ db, self, onRepaired }: RepairContext): void {
  const leases = db
    .query<{ session: number; epoch: number; pid: number; id: string | null }>(
      "select l.session, l.epoch, l.pid, s.id from leases l left join sessions s on s.n = l.session where l.pid is not null or s.n is null",
    )
    .all();
  for (const lease of leases) {
    if (lease.id !== null && isHeld(db, lease.session, self)) continue;
    db.write(() =>
      lease.id === null
        ? db.query("delete from leases where session = ? and not exists (select 1 from sessions where n = ?1)").run(lease.session)
        : db.query("update leases set pid = null where session = ? and epoch = ?").run(lease.session, lease.epoch),
    );
    const subject = lease.id ?? String(lease.session);
    onRepaired("lease", subject, `The lease of process ${lease.pid}, which no longer runs, was released.`);
  }
}

/** Indexes in batches, so that no writer waits for all of it. */
async function rebuildWords({ db, onRepaired }: RepairContext): Promise<void> {
  const checks = db.query<{ quick_check: string }>("pragma quick_check(20)").all();
  const isDamaged = checks.some((row) => /fts5|\bwords/i.test(row.quick_check));
  if (!isDamaged && countUnindexed(db) === 0) return;
  db.write(() => {
    db.query("insert into words (words) values ('delete-all')").run();
    db.query("update trees set indexed = 0, stale = last > 0").run();
  });
  while (indexSome(db) > 0) await yieldToEventLoop();
  onRepaired("search", db.path, "The full-text index was rebuilt.");
}

/** Difference between the nodes and the index, without the nodes that are still to be indexed. */
export function countUnindexed(db: Db): number {
  const { difference } = db
    .query<{ difference: number }>(
      `select (select count(*) from nodes c join trees t on t.n = c.n >> 28 where (c.n & 268435455) <= t.indexed)
         - (select count(*) from words_docsize) as difference`,
    )
    .get()!;
  return difference;
}

/** The row of an output is written before its file, so a file without a row belongs to no output. */
async function removeOrphans({ db, files, self, onRepaired }: RepairContext): Promise<void> {
  const handle = db.query("select 1 from handles where session = (select n from sessions where id = ?) and n = ?");
  const owner = db.query<{ n: number }>("select n from sessions where id = ?");
  for (const identifier of files.list()) {
    const [session = "", n = ""] = identifier.split("/");
    if (!/^\d+$/.test(n) || handle.get(session, Number(n)) !== null) continue;
    const row = owner.get(session);
    if (row && isHeld(db, row.n, self)) continue;
    files.remove(identifier);
    files.removeDirectoryIfEmpty(session);
    onRepaired("output", identifier, `The file of output ${identifier}, which no row refers to, was removed.`);
    await yieldToEventLoop();
  }
}

function copyLogBack({ db }: RepairContext): void {
  db.query("pragma wal_checkpoint(truncate)").all();
}
