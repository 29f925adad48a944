// One connection to one SQLite file: how it is opened and how a write is made.
// Knows nothing of sessions or nodes; the tables are in migrations.ts.
import { Database, type SQLQueryBindings, type Statement } from "bun:sqlite";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode, storeFault } from "./faults.ts";
import { migrate } from "./migrations.ts";

export class Db {
  readonly path: string;
  readonly #sqlite: Database;
  #writes = 0;

  private constructor(path: string, sqlite: Database) {
    this.path = path;
    this.#sqlite = sqlite;
  }

  static open(path: string): Db {
    let db: Db | null = null;
    try {
      if (path !== ":memory:") createPrivately(path);
      db = new Db(path, new Database(path));
      db.run("pragma busy_timeout = 5000");
      db.run("pragma synchronous = normal");
      db.run(`pragma wal_autocheckpoint = ${checkpointPages}`);
      migrate(db);
      return db;
    } catch (error) {
      db?.close();
      throw storeFault(error, path);
    }
  }

  /** Prepared once per connection. */
  query<Row>(sql: string): Statement<Row, SQLQueryBindings[]> {
    return this.#sqlite.query<Row, SQLQueryBindings[]>(sql);
  }

  run(sql: string): void {
    this.#sqlite.run(sql);
  }

  /** Takes the write lock first, so that two writers wait for each other and never collide half-way. */
  write<T>(change: () => T): T {
    this.query("begin immediate").run();
    try {
      const value = change();
      this.query("commit").run();
      this.#writes += 1;
      return value;
    } catch (error) {
      if (this.#sqlite.inTransaction) this.query("rollback").run();
      throw error;
    }
  }

  /** All that is read is as it was at one moment. */
  read<T>(look: () => T): T {
    this.query("begin").run();
    try {
      return look();
    } finally {
      this.query("commit").run();
    }
  }

  /** Like `write`, and on the disk when it returns: for the beginning and the end of a turn. */
  writeThrough<T>(change: () => T): T {
    this.run("pragma synchronous = full");
    try {
      return this.write(change);
    } finally {
      this.run("pragma synchronous = normal");
    }
  }

  /** Copies the log back into the file, if that is due. Takes some milliseconds, and keeps no writer waiting. */
  settle(): void {
    if (this.#writes < checkpointWrites) return;
    this.#writes = 0;
    this.run("pragma wal_checkpoint(passive)");
  }

  close(): void {
    this.#sqlite.close();
  }
}

/** The most that the log may hold; it is copied back between turns, and only a very long turn pays for it itself. */
const checkpointPages = 4000;

/** From about this many writes on it is worth copying the log back. */
const checkpointWrites = 100;

/** SQLite gives its log and index files the mode of the file itself. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, "a", 0o600));
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(path, "a", 0o600));
  }
}
