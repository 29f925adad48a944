// Stores the ids of the file snapshots before and after a turn. The files themselves are in src/files/snapshots.
import type { TurnFiles } from "../../../protocol/tree/file-changes.ts";
import type { Db } from "../db.ts";
import { requireLease } from "../lease.ts";
import { openTurn } from "./write-turn.ts";
import type { Lease } from "../../store.ts";

export function saveTurnFiles(db: Db, lease: Lease, turn: string, files: TurnFiles): void {
  db.write(() => {
    const { n } = openTurn(db, requireLease(db, lease), turn);
    db.query(
      `insert into turn_files (turn, project, before, after) values (?, ?, ?, ?)
       on conflict (turn) do update set project = excluded.project, before = excluded.before, after = excluded.after`,
    ).run(n, files.project, files.before, files.after);
  });
}

export function turnFiles(db: Db, turns: string[]): Map<string, TurnFiles> {
  const rows = db
    .query<TurnFiles & { id: string }>(
      `select t.id, f.project, f.before, f.after from turns t join turn_files f on f.turn = t.n
       where t.id in (select value from json_each(?))`,
    )
    .all(JSON.stringify(turns));
  return new Map(rows.map(({ id, project, before, after }) => [id, { project, before, after }]));
}
