// The connections to one Postgres database: runs statements, tries again after a restart, and counts round trips.
// Rows come as JSON, so that a bigint is a number and every text is as it was stored. Contains no SQL of sessions or nodes.
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { Fault } from "../../../protocol/api/error.ts";
import { Sql } from "../../sqlite/sql.ts";
import { checkFleetUrl, shownUrl } from "./check-url.ts";
import { fleetFault, isConflict, isConnectionLost } from "./faults.ts";
import { packText, parsePacked } from "./packed-text.ts";
import { PgPool } from "./pool.ts";

export type PgValue = string | number | boolean | null | Uint8Array;

/** A statement with `$1`, or one of a template. */
type Query = string | Sql;

type Connection = { unsafe: (text: string, params: PgValue[]) => Bun.SQL.Query<Record<string, unknown>[]> };

type Counter = { roundTrips: number; hasConnected: boolean };

export type PgOptions = {
  /** The most connections at once. Default: 2. */
  max?: number;
  /** How long a statement is tried again while the server restarts. Default: 10 seconds. */
  retryMs?: number;
};

/** `transaction` is null outside of one. */
type Inner = { pool: PgPool; transaction: Connection | null; retryMs: number; counter: Counter };

/**
 * A process that was cut off or stopped must not keep its locks: the server ends its connection within the time after which
 * its sessions are taken over. Milliseconds and seconds, as the server's settings of these names.
 */
const serverLimits = {
  idle_in_transaction_session_timeout: "8000",
  tcp_keepalives_idle: "4",
  tcp_keepalives_interval: "2",
  tcp_keepalives_count: "2",
  tcp_user_timeout: "8000",
};

export class PgDb {
  /** Host, port and name of the database, for messages. */
  readonly address: string;
  readonly #inner: Inner;

  private constructor(address: string, inner: Inner) {
    this.address = address;
    this.#inner = inner;
  }

  /** Checks the URL. The first statement opens the first connection. */
  static open(text: string, { max = 2, retryMs = 10_000 }: PgOptions = {}): PgDb {
    const url = checkFleetUrl(text);
    const rootCertificate = url.searchParams.get("sslrootcert");
    url.searchParams.delete("sslrootcert");
    const tls = rootCertificate === null ? {} : { tls: { ca: readCertificate(rootCertificate) } };
    const connection = { application_name: "skein", default_transaction_isolation: "read committed", ...serverLimits };
    const pool = new PgPool({ url: url.href, max, connectionTimeout: 10, idleTimeout: 0, connection, ...tls });
    return new PgDb(shownUrl(text), { pool, transaction: null, retryMs, counter: { roundTrips: 0, hasConnected: false } });
  }

  get roundTrips(): number {
    return this.#inner.counter.roundTrips;
  }

  /** The connections of this moment, for a library with statements of its own. */
  get sql(): Bun.SQL {
    return this.#inner.pool.sql;
  }

  listen(channel: string, wake: () => void): Promise<() => Promise<void>> {
    return this.#inner.pool.listen(channel, wake);
  }

  /** Changes how long a statement waits for a server that is away. */
  retryFor(ms: number): void {
    this.#inner.retryMs = ms;
  }

  async rows<Row>(query: Query, ...params: PgValue[]): Promise<Row[]> {
    const { text, values } = numbered(query, params);
    const rows = await this.#send(`select row_to_json(r)::text as j from (${text}) r`, values);
    return rows.map(({ j }) => parsePacked<Row>(j as string));
  }

  async row<Row>(query: Query, ...params: PgValue[]): Promise<Row | null> {
    return (await this.rows<Row>(query, ...params))[0] ?? null;
  }

  /** The rows without a change: cast each number to float8, and expect no packed text. Faster for thousands of rows. */
  async plainRows<Row>(query: Query): Promise<Row[]> {
    const { text, values } = numbered(query, []);
    return (await this.#send(text, values)) as Row[];
  }

  /**
   * Several queries as one statement: one round trip, and all see the same state of the database. `shared` is a `with` clause
   * whose tables all of them can read.
   */
  async batch<Rows extends Record<string, unknown>>(
    queries: { [Name in keyof Rows]: Sql },
    shared: Sql = new Sql(""),
  ): Promise<{
    [Name in keyof Rows]: Rows[Name][];
  }> {
    const names = Object.keys(queries);
    const parts = names.map(
      (name, index) =>
        `select ${index} as k, row_number() over () as i, row_to_json(r)::text as j from (${queries[name as keyof Rows].text}) r`,
    );
    const params = [...shared.params, ...names.flatMap((name) => queries[name as keyof Rows].params)];
    const statement = `${shared.text} ${parts.map((part) => `(${part})`).join(" union all ")} order by 1, 2`;
    const { text, values } = numbered(new Sql(statement, params), []);
    const results: Record<string, unknown[]> = Object.fromEntries(names.map((name) => [name, []]));
    for (const { k, j } of await this.#send(text, values)) results[names[k as number]!]!.push(parsePacked(j as string));
    return results as { [Name in keyof Rows]: Rows[Name][] };
  }

  /** Calls a function of the schema. Returns the JSON that it returns, parsed. */
  async call<T>(name: string, ...params: PgValue[]): Promise<T> {
    const places = params.map((_, index) => `$${index + 1}`).join(", ");
    const [row] = await this.#send(`select skein.${name}(${places})::text as j`, params);
    return parsePacked<T>((row?.["j"] as string | null) ?? "null");
  }

  /** Returns the number of affected rows. */
  async run(query: Query, ...params: PgValue[]): Promise<number> {
    const { text, values } = numbered(query, params);
    return ((await this.#send(text, values)) as unknown as { count: number }).count;
  }

  /** Several statements without parameters. */
  async exec(statements: string): Promise<void> {
    await this.#send(statements, []);
  }

  async bytes(query: Query, ...params: PgValue[]): Promise<Uint8Array | null> {
    const { text, values } = numbered(query, params);
    const [row] = await this.#send(text, values);
    return row === undefined ? null : (Object.values(row)[0] as Uint8Array);
  }

  /** Rows as the driver has them, and texts as they are: a number of 64 bits is a text, and NUL is refused. */
  async raw<Row>(text: string, params: PgValue[] = []): Promise<Row[]> {
    return (await this.#sendUnchanged(text, params)) as Row[];
  }

  /** A failure of the connection is not tried again: the caller's transaction has ended with it. */
  async transaction<T>(run: (db: PgDb) => Promise<T>): Promise<T> {
    const { pool, counter } = this.#inner;
    try {
      return await pool.use((sql) => sql.begin((tx) => run(new PgDb(this.address, { pool, transaction: tx, retryMs: 0, counter }))));
    } catch (error) {
      throw fleetFault(error, this.address);
    }
  }

  /** Runs the whole transaction again after a failure of the connection, so a second run must find what the first one did. */
  begin<T>(run: (tx: Bun.TransactionSQL) => Promise<T>): Promise<T> {
    return this.#retry(() => this.#inner.pool.use((sql) => sql.begin(run)));
  }

  async close(): Promise<void> {
    this.retryFor(0);
    await this.#inner.pool.close();
  }

  #send(text: string, values: PgValue[]): Promise<Record<string, unknown>[]> {
    return this.#sendUnchanged(
      text,
      values.map((value) => (typeof value === "string" ? packText(value) : value)),
    );
  }

  /** A statement is tried again after a restart. Our functions accept the second try of a write: ids are made here. */
  #sendUnchanged(text: string, params: PgValue[]): Promise<Record<string, unknown>[]> {
    const { pool, transaction, counter } = this.#inner;
    return this.#retry(() => {
      counter.roundTrips += 1;
      if (transaction !== null) return transaction.unsafe(text, params);
      return pool.use((sql) => sql.unsafe(text, params) as Promise<Record<string, unknown>[]>);
    });
  }

  async #retry<T>(act: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const { counter } = this.#inner;
    for (let pause = 50; ; pause = Math.min(pause * 2, 1000)) {
      try {
        const result = await act();
        counter.hasConnected = true;
        return result;
      } catch (error) {
        const mayRetry = (counter.hasConnected && isConnectionLost(error)) || isConflict(error);
        if (!mayRetry || performance.now() - startedAt + pause > this.#inner.retryMs) throw fleetFault(error, this.address);
        await Bun.sleep(pause);
      }
    }
  }
}

function readCertificate(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Fault("config", `the certificate ${path} of fleet.url can't be read`, {
      hint: "check sslrootcert in fleet.url",
      cause: error,
    });
  }
}

/** The texts of templates with `$1` instead of `?`. */
const numberedTexts = new Map<string, string>();

function numbered(query: Query, params: PgValue[]): { text: string; values: PgValue[] } {
  if (typeof query === "string") return { text: query, values: params };
  let text = numberedTexts.get(query.text);
  if (text === undefined) {
    let count = 0;
    text = query.text.replace(/\?/g, () => `$${(count += 1)}`);
    if (numberedTexts.size < 1000) numberedTexts.set(query.text, text);
  }
  return { text, values: query.params };
}
