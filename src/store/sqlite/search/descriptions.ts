// Caches short descriptions of sessions until the session changes. The engine writes their text.
import type { Db } from "../db.ts";
import { sessionRow } from "../rows/session-row.ts";

/** Differs after every change of the session. A description with another stamp is outdated. */
export function sessionStamp(db: Db, session: string): string {
  const { seq, tip } = sessionRow(db, session);
  return `${seq}:${tip ?? ""}`;
}

/** Null if no description of this request is stored, or if the session has changed since. */
export function description(db: Db, session: string, request: string): string | null {
  const row = db.row<{ body: string }>`
    select body from descriptions
    where session = ${sessionRow(db, session).n} and wish = ${request} and stamp = ${sessionStamp(db, session)}`;
  return row?.body ?? null;
}

/** Replaces the description of the same request, and deletes every outdated one. */
export async function saveDescription(
  db: Db,
  session: string,
  request: string,
  { stamp, body }: { stamp: string; body: string },
): Promise<void> {
  await db.write(() => {
    const { n } = sessionRow(db, session);
    db.run`delete from descriptions where session = ${n} and (wish = ${request} or stamp <> ${stamp})`;
    db.run`insert into descriptions (session, wish, stamp, body) values (${n}, ${request}, ${stamp}, ${body})`;
  });
}
