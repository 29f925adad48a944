// Records the search hits that an asker was shown, so that they are not shown again too soon.
import type { Db } from "../db.ts";

export function shownHits(db: Db, asker: string, since: number): Set<string> {
  const rows = db.rows<{ hit: string }>`select hit from told where asker = ${asker} and at >= ${since}`;
  return new Set(rows.map(({ hit }) => hit));
}

/** Also deletes the records of every asker that are older than `since`. */
export async function recordShownHits(db: Db, asker: string, hits: string[], since: number): Promise<void> {
  await db.write(() => {
    db.run`delete from told where at < ${since}`;
    db.run`
      insert into told (asker, hit, at) select ${asker}, value, ${Date.now()} from json_each(${JSON.stringify(hits)}) where true
      on conflict (asker, hit) do update set at = excluded.at`;
  });
}
