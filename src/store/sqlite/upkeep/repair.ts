// Mends what can be mended from what is whole: leases of the dead, the full-text index, transcripts, files that belong
// to nothing, the log. Nothing that is recorded is changed; what can't be mended is left for `verify` to list.
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
  mended: (kind: string, subject: string, message: string) => void;
  pause: () => Promise<void>;
};

type Repair = { repaired: VerifyProblem[]; problems: VerifyProblem[] };

export async function repair(db: Db, files: OutputFiles, self: LeaseHolder): Promise<Repair> {
  const repaired: VerifyProblem[] = [];
  const problems: VerifyProblem[] = [];
  const mending: RepairContext = {
    db,
    files,
    self,
    mended: (kind, subject, message) => repaired.push({ kind, subject, message }),
    pause: () => new Promise((resolve) => setImmediate(resolve)),
  };
  for (const [kind, mend] of steps) {
    try {
      await mend(mending);
    } catch (error) {
      problems.push({ kind, subject: db.path, message: `Repair stopped: ${messageOf(error)}` });
    }
  }
  return { repaired, problems };
}

const steps: readonly (readonly [string, (mending: RepairContext) => void | Promise<void>])[] = [
  ["lease", releaseDead],
  ["search", rebuildWords],
  ["transcript", repairTranscripts],
  ["output", removeOrphans],
  ["database", copyLogBack],
];

/** A holder that is alive keeps its lease; one that came meanwhile has another epoch. */
function releaseDead({ db, self, mended }: RepairContext): void {
  const held = db
    .query<{ session: number; epoch: number; pid: number; id: string | null }>(
      "select l.session, l.epoch, l.pid, s.id from leases l left join sessions s on s.n = l.session where l.pid is not null or s.n is null",
    )
    .all();
  for (const lease of held) {
    if (lease.id !== null && isHeld(db, lease.session, self)) continue;
    db.write(() =>
      lease.id === null
        ? db.query("delete from leases where session = ? and not exists (select 1 from sessions where n = ?1)").run(lease.session)
        : db.query("update leases set pid = null where session = ? and epoch = ?").run(lease.session, lease.epoch),
    );
    const subject = lease.id ?? String(lease.session);
    mended("lease", subject, `The lease of process ${lease.pid}, which is gone, was released.`);
  }
}

/** In batches, like everything that is indexed later: no writer waits for all of it. */
async function rebuildWords({ db, mended, pause }: RepairContext): Promise<void> {
  const told = db.query<{ quick_check: string }>("pragma quick_check(20)").all();
  const isDamaged = told.some((row) => /fts5|\bwords/i.test(row.quick_check));
  if (!isDamaged && countUnindexed(db) === 0) return;
  db.write(() => {
    db.query("insert into words (words) values ('delete-all')").run();
    db.query("update trees set indexed = 0, stale = last > 0").run();
  });
  while (indexSome(db) > 0) await pause();
  mended("search", db.path, "The full-text index was made again.");
}

/** By how many nodes the index is off, those aside that wait to be indexed. */
export function countUnindexed(db: Db): number {
  const { off } = db
    .query<{ off: number }>(
      `select (select count(*) from nodes c join trees t on t.n = c.n >> 28 where (c.n & 268435455) <= t.indexed)
         - (select count(*) from words_docsize) as off`,
    )
    .get()!;
  return off;
}

/** The row of an output is written before its file: a file without one was given up by a process that died. */
async function removeOrphans({ db, files, self, mended, pause }: RepairContext): Promise<void> {
  const known = db.query("select 1 from handles where session = (select n from sessions where id = ?) and n = ?");
  const owner = db.query<{ n: number }>("select n from sessions where id = ?");
  for (const identifier of files.list()) {
    const [session = "", n = ""] = identifier.split("/");
    if (!/^\d+$/.test(n) || known.get(session, Number(n)) !== null) continue;
    const row = owner.get(session);
    if (row && isHeld(db, row.n, self)) continue;
    files.remove(identifier);
    files.removeEmpty(session);
    mended("output", identifier, `The file of output ${identifier}, which nothing names, was removed.`);
    await pause();
  }
}

function copyLogBack({ db }: RepairContext): void {
  db.query("pragma wal_checkpoint(truncate)").all();
}
