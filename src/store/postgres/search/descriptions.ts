// Caches short descriptions of sessions in Postgres until the session changes, and records hits that an asker was shown.
import { sql } from "../../sqlite/sql.ts";
import type { PgDb } from "../connection/connection.ts";

const stamp = sql`s.seq || ':' || coalesce(s.tip::text, '')`;

/** Differs after every change of the session. A description with another stamp is outdated. */
export async function sessionStamp(db: PgDb, session: string): Promise<string> {
  const row = await db.row<{ stamp: string }>(
    sql`select ${stamp} as stamp from skein.sessions s where s.n = skein.number_of_session(${session}::text)`,
  );
  return row!.stamp;
}

/** Null if no description of this request is stored, or if the session has changed since. */
export async function description(db: PgDb, session: string, request: string): Promise<string | null> {
  const row = await db.row<{ body: string }>(sql`
    select d.body from skein.sessions s join skein.descriptions d on d.session = s.n and d.request = ${request}::text and d.stamp = ${stamp}
    where s.n = skein.number_of_session(${session}::text)`);
  return row?.body ?? null;
}

/** Replaces the description of the same request, and deletes every outdated one. */
export async function saveDescription(
  db: PgDb,
  session: string,
  request: string,
  description: { stamp: string; body: string },
): Promise<void> {
  await db.call("save_description", session, request, description.stamp, description.body);
}

export async function shownHits(db: PgDb, asker: string, since: number): Promise<Set<string>> {
  const rows = await db.rows<{ hit: string }>(
    sql`select hit from skein.shown_hits where asker = ${asker}::text and at >= ${since}::float8`,
  );
  return new Set(rows.map(({ hit }) => hit));
}

/** Also deletes the records of every asker that are older than `since`. */
export async function recordShownHits(db: PgDb, asker: string, hits: string[], since: number): Promise<void> {
  await db.call("record_shown_hits", asker, JSON.stringify(hits), since);
}
