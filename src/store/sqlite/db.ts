// One connection to one SQLite file: opens it, runs transactions and turns functions into methods of the store.
// Contains no SQL of sessions or nodes; migrations.ts creates the tables.
import { type Changes, Database, type Statement } from "bun:sqlite";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { once } from "../../kit/flow/lazy.ts";
import { errorCode, isLocked, storeFault } from "./faults.ts";
import { migrate } from "./migrations.ts";
import { sql, type Sql, type SqlValue } from "./sql.ts";
import { WriteQueue } from "./write-queue.ts";

/** Every statement of the store stays prepared. Bun's own limit of 20 is less than one turn uses. */
Database.MAX_QUERY_CACHE_SIZE = 1000;

type Template = [strings: TemplateStringsArray, ...values: (SqlValue | Sql)[]];

export class Db {
  readonly path: string;
  readonly #sqlite: Database;
  readonly #queue: WriteQueue;
  #writesSinceCheckpoint = 0;
  readonly #deferred = new Map<string, () => Promise<unknown>>();
  #timer: Timer | null = null;
  /** The deferred tasks that run at the moment. */
  #running: Promise<void> = Promise.resolve();

  private constructor(path: string, sqlite: Database, queue: WriteQueue) {
    this.path = path;
    this.#sqlite = sqlite;
    this.#queue = queue;
  }

  /** `lockLimitMs` is the longest wait for a lock while no writer makes progress. */
  static async open(path: string, lockLimitMs?: number): Promise<Db> {
    let db: Db | null = null;
    try {
      if (path !== ":memory:") createPrivateFile(path);
      db = new Db(path, new Database(path), new WriteQueue(path, lockLimitMs));
      db.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
      db.exec("pragma synchronous = normal");
      db.exec(`pragma wal_autocheckpoint = ${checkpointPages}`);
      await migrate(db);
      return db;
    } catch (error) {
      await db?.close();
      throw storeFault(error, path);
    }
  }

  /** The first row of a query; null if there is none. */
  row<Row>(...template: Template): Row | null {
    const { text, params } = sql(...template);
    return this.#retryWhileLocked(() => this.#prepare<Row>(text).get(...params));
  }

  rows<Row>(...template: Template): Row[] {
    const { text, params } = sql(...template);
    return this.#retryWhileLocked(() => this.#prepare<Row>(text).all(...params));
  }

  /** The rows as arrays, which are faster to read than objects. */
  values<Row>(...template: Template): Row[] {
    const { text, params } = sql(...template);
    return this.#retryWhileLocked(() => this.#prepare(text).values(...params) as Row[]);
  }

  run(...template: Template): Changes {
    const { text, params } = sql(...template);
    return this.#prepare(text).run(...params);
  }

  /** Runs statements without parameters. */
  exec(statements: string): void {
    this.#retryWhileLocked(() => this.#sqlite.run(statements));
  }

  #prepare<Row>(text: string): Statement<Row, SqlValue[]> {
    return this.#sqlite.query<Row, SqlValue[]>(text);
  }

  /**
   * One transaction. Takes the write lock first, so that two writers wait for each other and never fail half-way.
   * If the store is free, `change` runs before `write` returns its promise; else it runs in its turn.
   */
  async write<T>(change: () => T): Promise<T> {
    return this.#inTurn(() => this.#transaction(change));
  }

  /** Like `write`, but resolves only when the change is on the disk. Used for the start and the end of a turn, and for questions and messages. */
  async writeThrough<T>(change: () => T): Promise<T> {
    return this.#inTurn(() => {
      this.exec("pragma synchronous = full");
      try {
        return this.#transaction(change);
      } finally {
        this.exec("pragma synchronous = normal");
      }
    });
  }

  /** Like `write`, but synchronous and ahead of the queue. Only for the output of a command, which arrives and can't wait. */
  writeNow<T>(change: () => T): T {
    return this.#retryWhileLocked(() => this.#transaction(change));
  }

  async #inTurn<T>(transaction: () => T): Promise<T> {
    const attempt = () => this.#unlessLocked(transaction);
    const done = this.#queue.isEmpty() ? attempt() : null;
    return done === null ? this.#queue.wait(attempt) : done.value;
  }

  #transaction<T>(change: () => T): T {
    this.run`begin immediate`;
    try {
      const value = change();
      this.run`commit`;
      this.#writesSinceCheckpoint += 1;
      return value;
    } catch (error) {
      if (this.#sqlite.inTransaction) this.run`rollback`;
      throw error;
    }
  }

  /** Null if another process holds the lock. */
  #unlessLocked<T>(act: () => T): { value: T } | null {
    try {
      return { value: act() };
    } catch (error) {
      if (isLocked(error)) return null;
      throw error;
    }
  }

  /** Blocks the event loop. A reader is locked out only for moments: when the log is created, deleted, or recovered after a crash. */
  #retryWhileLocked<T>(act: () => T): T {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return act();
      } catch (error) {
        if (!isLocked(error) || attempts >= maxAttempts) throw error;
        Bun.sleepSync(busyTimeoutMs);
      }
    }
  }

  /** All queries of `query` see the same state of the database. */
  read<T>(query: () => T): T {
    this.run`begin`;
    try {
      return query();
    } finally {
      this.run`commit`;
    }
  }

  /** Turns functions on this connection into asynchronous methods. Their errors become Faults with a hint. */
  bind<Functions extends Record<string, (db: Db, ...params: never[]) => unknown>>(functions: Functions): Methods<Functions> {
    const methods = Object.entries(functions).map(([name, run]) => [
      name,
      async (...params: never[]) => {
        try {
          return await run(this, ...params);
        } catch (error) {
          throw storeFault(error, this.path);
        }
      },
    ]);
    return Object.fromEntries(methods) as Methods<Functions>;
  }

  /**
   * Runs `task` once the caller has its answer, at the latest in `close`. A later task of the same key replaces it.
   * The task is dropped while writers wait in the queue, so it must be one that can be done later.
   */
  defer(key: string, task: () => Promise<unknown>): void {
    this.#deferred.set(key, task);
    this.#timer ??= setTimeout(() => this.#startDeferred(), 0);
  }

  async close(): Promise<void> {
    await this.#queue.settle();
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#timer) this.#startDeferred();
    await this.#running;
    this.#sqlite.close();
  }

  #startDeferred(): void {
    this.#timer = null;
    const tasks = [...this.#deferred.values()];
    this.#deferred.clear();
    this.#running = this.#running.then(() => this.#runAll(tasks));
  }

  async #runAll(tasks: (() => Promise<unknown>)[]): Promise<void> {
    try {
      for (const task of tasks) if (this.#queue.isEmpty()) await task();
      this.#checkpoint();
    } catch {
      // The disk is full or the file is busy. The next search indexes the missing nodes, and reports the error.
    }
  }

  /** Copies the write-ahead log into the file, if that is due. Takes some milliseconds; no writer waits for it. */
  #checkpoint(): void {
    if (this.#writesSinceCheckpoint < checkpointWrites) return;
    this.#writesSinceCheckpoint = 0;
    this.exec("pragma wal_checkpoint(passive)");
  }
}

/** Functions for `bind` from a module that is loaded at their first call. Calls keep their order. */
export function later<Module extends Record<string, unknown>, Name extends keyof Module & string>(
  load: () => Promise<Module>,
  names: readonly Name[],
): { [Key in Name]: Later<Module[Key]> } {
  const loadOnce = once(load);
  const functions = names.map((name) => {
    const call = async (...params: never[]): Promise<unknown> => ((await loadOnce())[name] as (...params: never[]) => unknown)(...params);
    return [name, call] as const;
  });
  return Object.fromEntries(functions) as { [Key in Name]: Later<Module[Key]> };
}

type Later<Function> = Function extends (...params: infer Params) => infer Result ? (...params: Params) => Promise<Awaited<Result>> : never;

type Methods<Functions> = {
  [Name in keyof Functions]: Functions[Name] extends (db: Db, ...params: infer Params) => infer Result
    ? (...params: Params) => Promise<Awaited<Result>>
    : never;
};

/** Time for which SQLite itself waits for a lock. It blocks the event loop, and is enough for the usual transaction of others. */
const busyTimeoutMs = 10;

/** Each attempt waits twice for `busyTimeoutMs`, so this is about 5 seconds. */
const maxAttempts = 250;

/** Size at which SQLite copies the log back itself. Only a very long turn reaches it: `defer` does it between turns. */
const checkpointPages = 4000;

/** Number of writes from which a copy of the log is worth its time. */
const checkpointWrites = 100;

/** Creates the file with mode 600. SQLite uses the same mode for its log and index files. */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "a", 0o600));
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(path, "a", 0o600));
  }
}
