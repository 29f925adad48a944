// Deletes files and runs of sessions that were purged.
import type { PgDb } from "../../store/postgres/connection/connection.ts";

const isPurged = (table: string) => `not exists (select from skein.sessions s where s.id = ${table}.session and s.purged_at is null)`;

/** Also deletes those of a purge that was killed. A job without its run is dropped by the next worker that fetches it. */
export async function purgeRuns(db: PgDb): Promise<void> {
  await db.run(`delete from skein.packs where ${isPurged("packs")}`);
  await db.run(`delete from skein.runs where state <> 'running' and ${isPurged("runs")}`);
}
