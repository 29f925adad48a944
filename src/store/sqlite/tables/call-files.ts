// Writes the records of the files around calls, inside a transaction of others. `turn-files.ts` reads them.
import type { CallFiles } from "../../../protocol/tree/file-changes.ts";
import type { Db } from "../db.ts";

export function writeCallFiles(db: Db, turn: number, records: readonly CallFiles[]): void {
  for (const { first, last, project, before, after, paths, startedAt, endedAt } of records)
    // The columns with an index never change.
    db.run`
      insert into call_files (first, turn, last, project, before, after, paths, started_at, ended_at)
      values (${first}, ${turn}, ${last}, ${project}, ${before}, ${after}, ${paths && JSON.stringify(paths)}, ${startedAt}, ${endedAt})
      on conflict (first) do update
      set last = excluded.last, before = excluded.before, after = excluded.after, paths = excluded.paths, ended_at = excluded.ended_at`;
}
