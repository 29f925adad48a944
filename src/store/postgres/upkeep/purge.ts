// Deletes archived sessions of a fleet for good. A session is first marked as purged, which hides it; then each tree is one
// transaction. The next purge finishes one that was killed. Transcripts are files of other machines, so they stay.
import type { PurgeReport } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { sql } from "../../sqlite/sql.ts";
import type { PurgeRequest } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { requireSession } from "../tables/sessions.ts";

type Row = { n: number; id: string; name: string | null; project: string; tree: number; archived_at: number; is_busy: boolean };

export async function purge(db: PgDb, request: PurgeRequest): Promise<PurgeReport> {
  const { dryRun } = request;
  const counts = { nodes: 0, keptNodes: 0, turns: 0, outputs: 0, transcripts: 0, bytes: 0 };
  const report: PurgeReport = { dryRun, sessions: [], skipped: [], ...counts, problems: [] };
  const earlier = await db.rows<Row>("select n, id, name, project, tree, archived_at from skein.sessions where purged_at is not null");
  const chosen: Row[] = [];
  for (const row of await chooseSessions(db, request, report)) if (dryRun || (await markPurged(db, row, report))) chosen.push(row);
  report.sessions = chosen.map(({ id, name, project, archived_at }) => ({ id, name, project, archivedAt: archived_at }));
  const doomed: number[] = [];
  for (const [tree, rows] of Map.groupBy([...earlier, ...chosen], (row) => row.tree)) {
    const part = await db.call<Omit<TreeReport, "tree">>("purge_tree", tree, array(rows.map(({ n }) => n)), dryRun);
    for (const name of ["nodes", "keptNodes", "turns", "bytes"] as const) report[name] += part[name];
    doomed.push(...part.doomed);
  }
  const numbers = array([...earlier, ...chosen].map(({ n }) => n));
  const { outputs, bytes } = await db.call<{ outputs: number; bytes: number }>("purge_outputs", numbers, array(doomed), dryRun);
  report.outputs = outputs;
  report.bytes += bytes;
  if (!dryRun) await db.call("purge_empty", numbers);
  return report;
}

type TreeReport = { tree: number; nodes: number; keptNodes: number; turns: number; bytes: number; doomed: number[] };

/** A literal of type bigint[]. */
function array(numbers: number[]): string {
  return `{${numbers.join(",")}}`;
}

async function markPurged(db: PgDb, row: Row, report: PurgeReport): Promise<boolean> {
  const isMarked = await db.call<boolean>("mark_purged", row.n, row.archived_at);
  if (!isMarked) report.skipped.push({ id: row.id, name: row.name, reason: "it was used again meanwhile" });
  return isMarked;
}

/** The requested session, or every session that was archived early enough, with their sub-sessions that were not used since. */
async function chooseSessions(db: PgDb, request: PurgeRequest, report: PurgeReport): Promise<Row[]> {
  if (request.session !== null) await refuseUnarchived(db, request);
  const rows = await db.rows<Row>(sql`
    with recursive chosen as (
      select s.n, s.id, s.archived_at from skein.sessions s
      where s.purged_at is null and s.archived_at <= ${request.archivedBefore}::float8
        and (${request.session}::text is null or s.id = ${request.session}::text)
      union select s.n, s.id, coalesce(s.archived_at, c.archived_at) from chosen c join skein.sessions s on s.parent_session = c.id
      where s.plan is null and s.purged_at is null and (s.archived_at is not null or s.updated_at <= c.archived_at)
    )
    select s.n, s.id, s.name, s.project, s.tree, min(c.archived_at) as archived_at, s.holder is not null and skein.is_living(s.holder) as is_busy
    from chosen c join skein.sessions s on s.n = c.n group by s.n order by s.n`);
  return rows.filter((row) => {
    if (!row.is_busy) return true;
    if (row.id === request.session)
      throw new Fault("session-busy", `session ${row.name ?? row.id} is in use, so it can't be purged`, {
        hint: "wait until it ends, then purge again",
      });
    report.skipped.push({ id: row.id, name: row.name, reason: "it is in use" });
    return false;
  });
}

async function refuseUnarchived(db: PgDb, request: PurgeRequest): Promise<void> {
  const { id, name, archivedAt } = await requireSession(db, request.session ?? "");
  const label = name ?? id;
  if (archivedAt === null) {
    throw new Fault("usage", `session ${label} is not archived, so it can't be purged`, {
      hint: `archive it first: skein delete ${label}`,
    });
  }
  if (archivedAt > request.archivedBefore) {
    throw new Fault("usage", `session ${label} was archived only on ${new Date(archivedAt).toISOString()}`, {
      hint: "leave --older-than out to purge it now",
    });
  }
}
