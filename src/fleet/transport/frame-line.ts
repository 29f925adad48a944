// Connections between machines as rows of an unlogged table, so that no worker needs an inbound port. A bare NOTIFY wakes the
// receiver; a poll each second is what counts, because a connection that listens may be dead without a sign. A lost row
// closes its connection: the reader then connects again and reads the rest from the store.
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { AcceptConnection, Connection } from "../../protocol/connection/connection.ts";
import type { PgDb } from "../../store/postgres/connection/connection.ts";
import { FrameConnection, type FrameRow } from "./frame-connection.ts";

export type FrameLineOptions = {
  db: PgDb;
  /** The worker's id, or an id of its own for a process that is no worker. */
  address: string;
  /** Null for a process that only connects to others. */
  accept: AcceptConnection | null;
  warn: (message: string) => void;
};

const pollMs = 1_000;
const cleanEveryMs = 60_000;
const maxRowsAtOnce = 500;

export type FrameLine = {
  connect: (recipient: string, accept: AcceptConnection) => Promise<Connection>;
  close: () => Promise<void>;
};

export async function openFrameLine(options: FrameLineOptions): Promise<FrameLine> {
  const line = new RunningLine(options);
  await line.start();
  return { connect: (recipient, accept) => line.connect(recipient, accept), close: () => line.close() };
}

class RunningLine {
  readonly #options: FrameLineOptions;
  readonly #connections = new Map<string, FrameConnection>();
  /** The workers that this process has connected to, by connection. */
  readonly #workers = new Map<string, string>();
  #stopListening: (() => Promise<void>) | null = null;
  #timer: Timer | null = null;
  #reading: Promise<void> | null = null;
  #mustReadAgain = false;
  #cleanedAt = performance.now();
  #isClosed = false;
  #hasWarned = false;

  constructor(options: FrameLineOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { db, address } = this.#options;
    const wake = (): void => this.#read();
    this.#stopListening = await db.listen(channelOf(address), wake);
    this.#timer = setInterval(wake, pollMs);
  }

  async connect(recipient: string, accept: AcceptConnection): Promise<Connection> {
    if (!(await this.#isWorker(recipient))) throw new Fault("connection-lost", `worker ${recipient} is gone`);
    const id = Bun.randomUUIDv7();
    this.#workers.set(id, recipient);
    return this.#open(id, recipient, accept).connection;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await Promise.all([...this.#connections.values()].map((connection) => connection.closeNow("the process ends")));
    await this.#reading;
    await this.#stopListening?.();
  }

  #open(id: string, peer: string, accept: AcceptConnection): FrameConnection {
    const connection = new FrameConnection({
      send: (position, body) => this.#write({ connection: id, recipient: peer, position, body }),
      onClosed: () => {
        this.#connections.delete(id);
        this.#workers.delete(id);
      },
      accept,
    });
    this.#connections.set(id, connection);
    return connection;
  }

  async #write({ connection, recipient, position, body }: Omit<FrameRow, "sender"> & { recipient: string }): Promise<void> {
    const { db, address } = this.#options;
    await db.run(
      `insert into skein.frames (recipient, sender, connection, position, body) values ($1::text, $2::text, $3::text, $4::int, $5::text)`,
      recipient,
      address,
      connection,
      position,
      body,
    );
    // After the commit and alone: a NOTIFY inside of a transaction holds a lock of the whole server while it commits.
    await db.raw(`notify "${channelOf(recipient)}"`);
  }

  #read(): void {
    if (this.#isClosed) return;
    if (this.#reading !== null) {
      this.#mustReadAgain = true;
      return;
    }
    this.#reading = this.#readAll().finally(() => {
      this.#reading = null;
      if (this.#mustReadAgain) {
        this.#mustReadAgain = false;
        this.#read();
      }
    });
  }

  async #readAll(): Promise<void> {
    try {
      for (let count = maxRowsAtOnce; count === maxRowsAtOnce;) {
        const rows = await this.#take();
        count = rows.length;
        for (const row of rows) this.#receive(row);
      }
      await this.#clean();
      for (const connection of this.#connections.values()) connection.checkPeer();
      await this.#endLost();
      this.#hasWarned = false;
    } catch (error) {
      if (!this.#hasWarned) this.#options.warn(`messages of other machines can't be read: ${messageOf(error)}`);
      this.#hasWarned = true;
    }
  }

  async #take(): Promise<FrameRow[]> {
    const rows = await this.#options.db.raw<FrameRow & { n: string }>(
      `delete from skein.frames where n in (select n from skein.frames where recipient = $1 order by n limit ${maxRowsAtOnce})
      returning n, sender, connection, position, body`,
      [this.#options.address],
    );
    return rows.toSorted((a, b) => Number(a.n) - Number(b.n));
  }

  #receive(row: FrameRow): void {
    const { accept } = this.#options;
    const open = this.#connections.get(row.connection);
    if (open !== undefined) return open.receive(row);
    // The other rows of a connection that was closed here follow its first one.
    if (accept !== null && row.position === 0 && row.body !== null) this.#open(row.connection, row.sender, accept).receive(row);
  }

  async #isWorker(id: string): Promise<boolean> {
    return (await this.#options.db.row("select id from skein.workers where id = $1::text", id)) !== null;
  }

  /** A watcher of a killed worker continues with the next one as soon as its sessions are free. */
  async #endLost(): Promise<void> {
    const { db } = this.#options;
    for (const [id, worker] of this.#workers) {
      if (this.#connections.get(id)?.isOverdue !== true) continue;
      const row = await db.row<{ living: boolean }>("select skein.is_living($1::text) as living", worker);
      if (row?.living !== true) this.#connections.get(id)?.endAsLost(`worker ${worker} is gone`);
    }
  }

  /** Rows for a process that is gone, and connections to workers that are. */
  async #clean(): Promise<void> {
    if (performance.now() - this.#cleanedAt < cleanEveryMs) return;
    this.#cleanedAt = performance.now();
    await this.#options.db.run("delete from skein.frames where at < clock_timestamp() - interval '5 minutes'");
  }
}

/** A name of a channel has at most 63 bytes. */
function channelOf(address: string): string {
  return `skein_${new Bun.CryptoHasher("sha256").update(address).digest("hex").slice(0, 32)}`;
}
