// Records the search hits that an asker was shown, so that they are not shown again too soon.
import type { Db } from "../db.ts";

export function shownHits(db: Db, asker: string, since: number): Set<string> {
  const rows = db.query<{ hit: string }>("select hit from told where asker = ? and at >= ?").all(asker, since);
  return new Set(rows.map(({ hit }) => hit));
}

/** Also deletes the records of every asker that are older than `since`. */
export function recordShownHits(db: Db, asker: string, hits: string[], since: number): void {
  db.write(() => {
    db.query("delete from told where at < ?").run(since);
    db.query(
      `insert into told (asker, hit, at) select ?1, value, ?3 from json_each(?2) where true
       on conflict (asker, hit) do update set at = excluded.at`,
    ).run(asker, JSON.stringify(hits), Date.now());
  });
}
