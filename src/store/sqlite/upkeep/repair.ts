// Repairs damage from intact data: leases of ended processes, the full-text index, transcripts, files without a row,
// the write-ahead log. Changes no stored node. `verify` lists the damage that can't be repaired.
import { yieldToEventLoop } from "../../../kit/flow/time-slice.ts";
import type { Db } from "../db.ts";
import { isHeld } from "../lease.ts";
import { repairTranscripts } from "./repair-transcripts.ts";
import { indexSome } from "../search/search.ts";
import type { UpkeepContext, UpkeepStep } from "./verify.ts";

export const repairSteps: readonly UpkeepStep[] = [
  ["lease", releaseEndedLeases],
  ["search", rebuildWords],
  ["transcript", repairTranscripts],
  ["output", removeOrphans],
  ["database", copyLogBack],
];

type LeaseRow = { session: number; epoch: number; pid: number; id: string | null };

/** A running holder keeps its lease. A process that acquired the session meanwhile has another epoch. */
async function releaseEndedLeases({ db, self, repaired }: UpkeepContext): Promise<void> {
  const leases = db.rows<LeaseRow>`
    select l.session, l.epoch, l.pid, s.id from leases l left join sessions s on s.n = l.session where l.pid is not null or s.n is null`;
  for (const { session, epoch, pid, id } of leases) {
    if (id !== null && isHeld(db, session, self)) continue;
    await db.write(() =>
      id === null
        ? db.run`delete from leases where session = ${session} and not exists (select 1 from sessions where n = ${session})`
        : db.run`update leases set pid = null where session = ${session} and epoch = ${epoch}`,
    );
    repaired("lease", id ?? String(session), `the lease of process ${pid}, which no longer runs, was released`);
  }
}

/** Indexes in batches, so that no writer waits for all of it. */
async function rebuildWords({ db, repaired }: UpkeepContext): Promise<void> {
  const checks = db.rows<{ quick_check: string }>`pragma quick_check(20)`;
  const isDamaged = checks.some((row) => /fts5|\bwords/i.test(row.quick_check));
  if (!isDamaged && countUnindexed(db) === 0) return;
  await db.write(() => {
    db.run`insert into words (words) values ('delete-all')`;
    db.run`update trees set indexed = 0, stale = last > 0`;
  });
  while ((await indexSome(db)) > 0) await yieldToEventLoop();
  repaired("search", db.path, "the full-text index was rebuilt");
}

/** Difference between the nodes and the index, without the nodes that are still to be indexed. */
export function countUnindexed(db: Db): number {
  const row = db.row<{ difference: number }>`
    select (select count(*) from nodes c join trees t on t.n = c.n >> 28 where (c.n & 268435455) <= t.indexed)
      - (select count(*) from words_docsize) as difference`;
  return row!.difference;
}

/** The row of an output is written before its file, so a file without a row belongs to no output. */
async function removeOrphans({ db, files, self, repaired }: UpkeepContext): Promise<void> {
  for (const identifier of files.list()) {
    const [session = "", n = ""] = identifier.split("/");
    const owner = db.row<{ n: number }>`select n from sessions where id = ${session}`;
    const hasRow = owner !== null && db.row`select 1 from handles where session = ${owner.n} and n = ${Number(n)}` !== null;
    if (!/^\d+$/.test(n) || hasRow || (owner !== null && isHeld(db, owner.n, self))) continue;
    files.remove(identifier);
    files.removeDirectoryIfEmpty(session);
    repaired("output", identifier, `the file of output ${identifier}, which no row refers to, was removed`);
    await yieldToEventLoop();
  }
}

function copyLogBack({ db }: UpkeepContext): void {
  db.rows`pragma wal_checkpoint(truncate)`;
}
