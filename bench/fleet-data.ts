// Copies a SQLite store of bench/store-data.ts into Postgres, row by row with the same numbers, and indexes its words.
import { Database } from "bun:sqlite";
import type { PgDb } from "../src/store/postgres/connection/connection.ts";
import { indexSome } from "../src/store/postgres/search/search.ts";

type Table = { name: string /** The columns with their types. */; columns: string; select: string };

const tables: Table[] = [
  {
    name: "trees",
    columns: "n bigint, id text, created_at bigint, last bigint, stale boolean",
    select: "select n, id, created_at, last, 'true' as stale from trees",
  },
  {
    name: "sessions",
    columns:
      "n bigint, id text, tree bigint, tip bigint, seq bigint, name text, agent text, model text, directory text, project text, task text, tool_level text, created_at bigint, updated_at bigint",
    select: "select n, id, tree, tip, seq, name, agent, model, directory, project, task, tool_level, created_at, updated_at from sessions",
  },
  {
    name: "turns",
    columns:
      "n bigint, id text, session bigint, parent bigint, tip bigint, agent text, model text, fields text, input bigint, output bigint, steps bigint, cost_usd float8, started_at bigint, ended_at bigint, status text",
    select: `select n, id, session, parent, tip, agent, model, json_object('policy', policy) as fields, input, output, steps, cost_usd,
      started_at, ended_at, status from turns`,
  },
  {
    name: "nodes",
    columns: "n bigint, parent bigint, session bigint, turn bigint, at bigint, id text, author text, body text",
    select: "select n, parent, session, turn, at, id, body ->> '$.author' as author, body from nodes",
  },
  {
    name: "events",
    columns: "session bigint, seq bigint, kind int, turn bigint, node bigint, at bigint",
    select: "select session, seq, kind, turn, node, at from events",
  },
];

const batchSize = 5000;

export async function copyStore(path: string, db: PgDb, report: (line: string) => void): Promise<void> {
  const sqlite = new Database(path, { readonly: true });
  for (const { name, columns, select } of tables) {
    const names = columns.replace(/ \w+(?=,|$)/g, "");
    const insert = `insert into skein.${name} (${names}) overriding system value
      select ${names} from json_to_recordset($1::text::json) as x (${columns})`;
    let rows: unknown[] = [];
    for (const row of sqlite.query(select).iterate())
      if (rows.push(row) === batchSize) await db.run(insert, JSON.stringify(rows.splice(0)));
    if (rows.length > 0) await db.run(insert, JSON.stringify(rows));
    rows = [];
    report(`copied ${name}`);
  }
  for (const name of ["trees", "sessions", "turns"])
    await db.row(`select setval(pg_get_serial_sequence('skein.${name}', 'n'), (select max(n) from skein.${name}))::text as n`);
  sqlite.close();
  while ((await indexSome(db)) > 0);
  report("indexed the words");
  await db.exec("vacuum analyze");
}
