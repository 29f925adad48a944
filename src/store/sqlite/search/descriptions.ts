// What was told of a session in short, kept until the session changes. What it says is not this room's business.
import type { Db } from "../db.ts";
import { sessionRow } from "../rows/session-row.ts";

/** Another one after every change: what was made of the session before it is old. */
export function sessionStamp(db: Db, session: string): string {
  const { seq, tip } = sessionRow(db, session);
  return `${seq}:${tip ?? ""}`;
}

/** Null when there is none for this wish, or the session has changed since. */
export function description(db: Db, session: string, wish: string): string | null {
  const row = db
    .query<{ body: string }>("select body from descriptions where session = ? and wish = ? and stamp = ?")
    .get(sessionRow(db, session).n, wish, sessionStamp(db, session));
  return row?.body ?? null;
}

/** The latest for each wish; those of other wishes go when they are old. */
export function saveDescription(db: Db, session: string, wish: string, made: { stamp: string; body: string }): void {
  db.write(() => {
    const { n } = sessionRow(db, session);
    db.query("delete from descriptions where session = ? and (wish = ? or stamp <> ?)").run(n, wish, made.stamp);
    db.query("insert into descriptions (session, wish, stamp, body) values (?, ?, ?, ?)").run(n, wish, made.stamp, made.body);
  });
}
