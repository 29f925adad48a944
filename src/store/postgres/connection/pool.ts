// The connections of one process to the database. After a network failure a connection can stay without an answer for minutes,
// although the server can be reached again. This class notices that, and replaces all connections.
type PoolOptions = Omit<Bun.SQL.PostgresOrMySQLOptions, "max"> & { max: number };

type Listener = { channel: string; wake: () => void; subscription: Promise<{ unlisten: () => Promise<void> } | null> };

/** An older statement is reason to test the network. A slow statement on a working network is left alone. */
const suspectAfterMs = 3_000;
const probeLimitMs = 3_000;

export class PgPool {
  readonly #options: PoolOptions;
  readonly #startedAt = new Map<number, number>();
  readonly #listeners = new Set<Listener>();
  #sql: Bun.SQL;
  #count = 0;
  #timer: Timer | null = null;
  #isProbing = false;
  #wasCut = false;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#sql = new Bun.SQL(options);
  }

  /** The current connections. A caller must not keep them for longer than a statement. */
  get sql(): Bun.SQL {
    return this.#sql;
  }

  /** Runs one statement or transaction. It rejects as a lost connection when its connection was replaced meanwhile. */
  async use<T>(act: (sql: Bun.SQL) => Promise<T>): Promise<T> {
    const number = (this.#count += 1);
    this.#startedAt.set(number, performance.now());
    this.#timer ??= setInterval(() => void this.#check(), 1_000).unref();
    try {
      return await act(this.#sql);
    } finally {
      this.#startedAt.delete(number);
      if (this.#startedAt.size === 0) this.#stopTimer();
    }
  }

  /** Calls `wake` for each notification, and after a failure when it listens again. Returns a function that stops listening. */
  async listen(channel: string, wake: () => void): Promise<() => Promise<void>> {
    const subscription = this.#sql.listen(channel, wake, wake);
    const listener: Listener = { channel, wake, subscription };
    await subscription;
    this.#listeners.add(listener);
    return async () => {
      this.#listeners.delete(listener);
      await (await listener.subscription)?.unlisten().catch(() => {}); // the connection may be lost
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    await this.#sql.close({ timeout: 1 });
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #check(): Promise<void> {
    const oldest = Math.min(...this.#startedAt.values());
    if (this.#isProbing || performance.now() - oldest < suspectAfterMs) return;
    this.#isProbing = true;
    const isReachable = await this.#probe();
    this.#isProbing = false;
    if (!isReachable) this.#wasCut = true;
    else if (this.#wasCut && !this.#isClosed) this.#replace();
  }

  async #probe(): Promise<boolean> {
    const sql = new Bun.SQL({ ...this.#options, max: 1, connectionTimeout: probeLimitMs / 1000 });
    try {
      const answer = sql.unsafe("select 1").then(
        () => true,
        () => false,
      );
      return await Promise.race([answer, Bun.sleep(probeLimitMs).then(() => false)]);
    } finally {
      void sql.close({ timeout: 0 }).catch(() => {}); // it has no statement that matters
    }
  }

  #replace(): void {
    const old = this.#sql;
    this.#wasCut = false;
    this.#sql = new Bun.SQL(this.#options);
    for (const listener of this.#listeners) {
      listener.subscription = this.#sql.listen(listener.channel, listener.wake, listener.wake).catch(() => null); // listeners also poll
      listener.wake();
    }
    void old.close({ timeout: 0 }).catch(() => {}); // its statements reject, and are sent again
  }
}
