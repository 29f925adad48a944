// Reads turns from Postgres, their prompts, and the snapshots of their files.
import type { CallFiles, FileRecord, TurnFiles } from "../../../protocol/tree/file-changes.ts";
import { taskOf, type NewNode } from "../../../protocol/tree/node.ts";
import type { Turn } from "../../../protocol/tree/turn.ts";
import { type Sql, sql } from "../../sqlite/sql.ts";
import type { Lease } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { requireSession } from "./sessions.ts";
import { belowRows } from "./spending.ts";
import { type PgTurnRow, readTurns, selectTurns, type SubTurnRow } from "./turn-row.ts";
import { packedJson } from "./write-turn.ts";

/** The elements of a JSON list, as a table of texts. */
export function listed(ids: string[]): Sql {
  return sql`select json_array_elements_text(${JSON.stringify(ids)}::text::json)`;
}

/** The turns that `where` selects, with the spending of their sub-sessions. */
async function readWhere(db: PgDb, where: Sql): Promise<Turn[]> {
  const { turns, below } = await db.batch<{ turns: PgTurnRow; below: SubTurnRow }>({
    turns: sql`${selectTurns} where ${where} order by t.n`,
    below: belowRows(sql`select t.session_id from skein.turn_rows t where ${where}`),
  });
  return readTurns(turns, below);
}

export async function turn(db: PgDb, id: string): Promise<Turn | null> {
  return (await readWhere(db, sql`t.id = ${id}::text`))[0] ?? null;
}

export async function turnsOf(db: PgDb, session: string): Promise<Turn[]> {
  return orUnknown(db, session, await readWhere(db, sql`t.session_id = ${session}::text`));
}

export async function openTurns(db: PgDb, session: string): Promise<Turn[]> {
  return orUnknown(db, session, await readWhere(db, sql`t.session_id = ${session}::text and t.ended_at is null`));
}

/** Nothing tells an unknown session from one without turns. */
async function orUnknown(db: PgDb, session: string, turns: Turn[]): Promise<Turn[]> {
  if (turns.length === 0) await requireSession(db, session);
  return turns;
}

// --- prompts --------------------------------------------------------------------------------------------------

/** The node of turn `t` in the tree of session `s`. Roots of all trees have the parent null, so the tree limits the search. */
const promptBody = sql`(
  select c.body from skein.nodes c
  where c.parent is not distinct from t.parent and c.turn = t.n and c.n > s.tree * 268435456 and c.n < (s.tree + 1) * 268435456
  order by c.n limit 1)`;

type PromptRow = { id: string; body: string | null };

/** Returns the prompts by the id of their turn. A turn without a prompt has no entry. */
export async function prompts(db: PgDb, turns: string[]): Promise<Map<string, string>> {
  return textsOf(
    await db.rows<PromptRow>(sql`
      select t.id, ${promptBody} as body from skein.turns t join skein.sessions s on s.n = t.session where t.id in (${listed(turns)})`),
  );
}

/** The prompt of the turn that a session's tip belongs to, by session. An empty session has no entry. */
export async function latestPrompts(db: PgDb, sessions: string[]): Promise<Map<string, string>> {
  return textsOf(
    await db.rows<PromptRow>(sql`
      select s.id, ${promptBody} as body from skein.sessions s join skein.nodes tip on tip.n = s.tip join skein.turns t on t.n = tip.turn
      where s.id in (${listed(sessions)})`),
  );
}

function textsOf(rows: PromptRow[]): Map<string, string> {
  return new Map(
    rows.flatMap(({ id, body }): [string, string][] => {
      const text = body === null ? null : taskOf(JSON.parse(body) as NewNode);
      return text === null ? [] : [[id, text]];
    }),
  );
}

// --- files ----------------------------------------------------------------------------------------------------

export async function saveTurnFiles(db: PgDb, lease: Lease, turn: string, files: TurnFiles): Promise<void> {
  await db.call("save_turn_files", lease.session, lease.epoch, turn, packedJson(files));
}

/** Several records are one transaction. */
export async function saveCallFiles(db: PgDb, lease: Lease, turn: string, ...records: CallFiles[]): Promise<void> {
  const rows = records.map(({ paths, ...record }) => ({ ...record, paths: paths && JSON.stringify(paths) }));
  await db.call("save_call_files", lease.session, lease.epoch, turn, packedJson(rows));
}

export async function turnFiles(db: PgDb, turns: string[]): Promise<Map<string, TurnFiles>> {
  const rows = await db.rows<TurnFiles & { id: string }>(sql`
    select t.id, f.project, f.before, f.after from skein.turns t join skein.turn_files f on f.turn = t.n where t.id in (${listed(turns)})`);
  return new Map(rows.map(({ id, ...files }) => [id, files]));
}

type RecordRow = Omit<FileRecord, "paths" | "startedAt" | "endedAt"> & {
  paths: string | null;
  started_at: number;
  ended_at: number | null;
};

/** A turn of an older version has no record of its calls, and a command of the user has none. Then the turn is one record. */
function recordRows(ofCalls: Sql, ofTurns: Sql): Sql {
  return sql`
    select s.id as session, t.id as turn, c.first, c.last, c.project, c.before, c.after, c.paths, c.started_at, c.ended_at
    from skein.turns t join skein.call_files c on c.turn = t.n join skein.sessions s on s.n = t.session where ${ofCalls}
    union all
    select s.id, t.id, null, p.id, f.project, f.before, f.after, null, t.started_at, t.ended_at
    from skein.turns t join skein.turn_files f on f.turn = t.n join skein.sessions s on s.n = t.session
    left join skein.nodes p on p.n = t.tip
    where ${ofTurns} and f.after is distinct from f.before and not exists (select 1 from skein.call_files c where c.turn = t.n)
    order by 9`;
}

async function readRecords(db: PgDb, query: Sql): Promise<FileRecord[]> {
  const rows = await db.rows<RecordRow>(query);
  return rows.map(({ paths, started_at: startedAt, ended_at: endedAt, ...row }) => ({
    ...row,
    paths: paths === null ? null : (JSON.parse(paths) as string[]),
    startedAt,
    endedAt,
  }));
}

export function turnRecords(db: PgDb, turns: string[]): Promise<FileRecord[]> {
  const isListed = sql`t.id in (${listed(turns)})`;
  return readRecords(db, recordRows(isListed, isListed));
}

export function projectRecords(db: PgDb, project: string, { from, to }: { from: number; to: number }): Promise<FileRecord[]> {
  return readRecords(
    db,
    recordRows(
      sql`c.project = ${project}::text and c.started_at <= ${to}::float8 and (c.ended_at is null or c.ended_at >= ${from}::float8)`,
      sql`f.project = ${project}::text and t.started_at <= ${to}::float8 and (t.ended_at is null or t.ended_at >= ${from}::float8)`,
    ),
  );
}

type UndoneEntry = { files?: { project: string; from: string; to: string } };

export async function fileStates(db: PgDb, project: string): Promise<string[]> {
  const { states, undone } = await db.batch<{ states: { id: string | null }; undone: { undone: string } }>({
    states: sql`
      select before as id from skein.turn_files where project = ${project}::text
      union select after from skein.turn_files where project = ${project}::text
      union select before from skein.call_files where project = ${project}::text
      union select after from skein.call_files where project = ${project}::text`,
    undone: sql`select undone from skein.sessions where undone is not null`,
  });
  const ofUndone = undone
    .flatMap((row) => JSON.parse(row.undone) as UndoneEntry[])
    .flatMap(({ files }) => (files?.project === project ? [files.from, files.to] : []));
  return [...new Set([...states.flatMap(({ id }) => id ?? []), ...ofUndone])];
}
