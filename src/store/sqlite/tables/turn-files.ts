// The ids of the file snapshots of turns and of their calls. The files of a snapshot are in src/files/snapshots.
import type { CallFiles, FileRecord, TurnFiles } from "../../../protocol/tree/file-changes.ts";
import type { Lease } from "../../store.ts";
import type { Db } from "../db.ts";
import { requireLease } from "../lease.ts";
import { writeCallFiles } from "./call-files.ts";
import { openTurn } from "./write-turn.ts";

export async function saveTurnFiles(db: Db, lease: Lease, turn: string, { project, before, after }: TurnFiles): Promise<void> {
  await db.write(() => {
    const { n } = openTurn(db, requireLease(db, lease), turn);
    db.run`insert or replace into turn_files (turn, project, before, after) values (${n}, ${project}, ${before}, ${after})`;
  });
}

/** Several records are one transaction. */
export async function saveCallFiles(db: Db, lease: Lease, turn: string, ...records: CallFiles[]): Promise<void> {
  await db.write(() => {
    const { n } = openTurn(db, requireLease(db, lease), turn);
    writeCallFiles(db, n, records);
  });
}

export function turnFiles(db: Db, turns: string[]): Map<string, TurnFiles> {
  const rows = db.rows<TurnFiles & { id: string }>`
    select t.id, f.project, f.before, f.after from turns t join turn_files f on f.turn = t.n
    where t.id in (select value from json_each(${JSON.stringify(turns)}))`;
  return new Map(rows.map(({ id, ...files }) => [id, files]));
}

type RecordRow = {
  session: string;
  turn: string;
  first: string | null;
  last: string | null;
  project: string;
  before: string | null;
  after: string | null;
  paths: string | null;
  started_at: number;
  ended_at: number | null;
};

/** A turn of an older version has no record of its calls, and a command of the user has none. Then the turn is one record. */
export function turnRecords(db: Db, turns: string[]): FileRecord[] {
  const ids = JSON.stringify(turns);
  const rows = db.rows<RecordRow>`
    select s.id as session, t.id as turn, c.first, c.last, c.project, c.before, c.after, c.paths, c.started_at, c.ended_at
    from turns t join call_files c on c.turn = t.n join sessions s on s.n = t.session
    where t.id in (select value from json_each(${ids}))
    union all
    select s.id, t.id, null, p.id, f.project, f.before, f.after, null, t.started_at, t.ended_at
    from turns t join turn_files f on f.turn = t.n join sessions s on s.n = t.session left join nodes p on p.n = t.tip
    where t.id in (select value from json_each(${ids})) and f.after is not f.before
      and not exists (select 1 from call_files c where c.turn = t.n)
    order by 9`;
  return rows.map(toRecord);
}

export function projectRecords(db: Db, project: string, { from, to }: { from: number; to: number }): FileRecord[] {
  const rows = db.rows<RecordRow>`
    select s.id as session, t.id as turn, c.first, c.last, c.project, c.before, c.after, c.paths, c.started_at, c.ended_at
    from call_files c join turns t on t.n = c.turn join sessions s on s.n = t.session
    where c.project = ${project} and c.started_at <= ${to} and (c.ended_at is null or c.ended_at >= ${from})
    union all
    select s.id, t.id, null, p.id, f.project, f.before, f.after, null, t.started_at, t.ended_at
    from turn_files f join turns t on t.n = f.turn join sessions s on s.n = t.session left join nodes p on p.n = t.tip
    where f.project = ${project} and f.after is not f.before and t.started_at <= ${to} and (t.ended_at is null or t.ended_at >= ${from})
      and not exists (select 1 from call_files c where c.turn = t.n)
    order by 9`;
  return rows.map(toRecord);
}

export function fileStates(db: Db, project: string): string[] {
  const rows = db.rows<{ id: string | null }>`
    select before as id from turn_files where project = ${project} union select after from turn_files where project = ${project}
    union select before from call_files where project = ${project} union select after from call_files where project = ${project}
    union select u.value ->> '$.files.from' from sessions, json_each(undone) u where u.value ->> '$.files.project' = ${project}
    union select u.value ->> '$.files.to' from sessions, json_each(undone) u where u.value ->> '$.files.project' = ${project}`;
  return rows.flatMap(({ id }) => id ?? []);
}

function toRecord({ paths, started_at: startedAt, ended_at: endedAt, ...row }: RecordRow): FileRecord {
  return { ...row, paths: paths === null ? null : (JSON.parse(paths) as string[]), startedAt, endedAt };
}
