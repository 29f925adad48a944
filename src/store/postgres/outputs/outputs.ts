// Stores whole outputs of tools in Postgres, in parts of 1 MB. An output can't wait for the database: it is written to an
// unlinked local file, and its parts are sent behind it. Memory use is bounded; `close` waits until all is stored.
import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "../../../protocol/api/error.ts";
import type { OutputSink } from "../../../protocol/api/ports.ts";
import type { Handle, HandleMetadata } from "../../../protocol/tree/handle.ts";
import { type OutputBounds, RingBuffer, wholeCharacters } from "../../sqlite/outputs/outputs.ts";
import { sql } from "../../sqlite/sql.ts";
import type { Lease } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { packedJson } from "../tables/write-turn.ts";

export const partBytes = 1 << 20;

type OutputOptions = { db: PgDb; bounds: OutputBounds; lease: Lease; call: string; source: string };

export class PgOutput implements OutputSink {
  readonly #options: OutputOptions;
  readonly #hash = new Bun.CryptoHasher("sha256");
  #memory: Uint8Array[] = [];
  #fd: number | null = null;
  /** Resolves to the output's number. */
  #number: Promise<number> | null = null;
  #sending: Promise<void> = Promise.resolve();
  #total = 0;
  #stored = 0;
  #sentParts = 0;
  #tail: RingBuffer | null = null;
  #failure: unknown = null;
  #isClosed = false;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** Never throws. After an error nothing more is stored, and `close` throws the error. */
  write(chunk: Uint8Array): void {
    this.#total += chunk.length;
    if (this.#failure !== null || this.#isClosed) return;
    if (this.#fd === null && this.#total <= this.#options.bounds.memoryBytes) {
      this.#memory.push(chunk.slice());
      return;
    }
    try {
      this.#spill();
      this.#store(chunk);
      this.#sendFullParts();
    } catch (error) {
      this.#failure = error;
    }
  }

  async close(metadata: HandleMetadata, inlineBytes: number): Promise<Handle | null> {
    if (this.#isClosed) throw new Fault("internal", `the output of call ${this.#options.call} was closed twice`);
    this.#isClosed = true;
    try {
      if (this.#total > inlineBytes && this.#failure === null) return await this.#record(metadata);
      await this.#sending;
      if (this.#failure !== null) throw this.#failure;
      await this.#discard();
      return null;
    } finally {
      if (this.#fd !== null) closeSync(this.#fd);
      this.#memory = [];
      this.#tail = null;
    }
  }

  /** Moves the output from memory to the file, once. */
  #spill(): void {
    if (this.#fd !== null) return;
    const path = join(tmpdir(), `skein-${Bun.randomUUIDv7()}`);
    this.#fd = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    for (const chunk of this.#memory) this.#store(chunk);
    this.#memory = [];
  }

  #store(chunk: Uint8Array): void {
    if (this.#tail) {
      this.#tail.push(chunk);
      return;
    }
    const { headBytes, tailBytes } = this.#options.bounds;
    const available = headBytes - this.#stored;
    const headPart = chunk.length <= available ? chunk.length : wholeCharacters(chunk, available);
    this.#writeFile(chunk.subarray(0, headPart));
    if (headPart === chunk.length) return;
    this.#tail = new RingBuffer(tailBytes);
    this.#tail.push(chunk.subarray(headPart));
  }

  #writeFile(bytes: Uint8Array): void {
    for (let written = 0; written < bytes.length;) written += writeSync(this.#fd!, bytes, written);
    this.#hash.update(bytes);
    this.#stored += bytes.length;
  }

  #sendFullParts(): void {
    while ((this.#sentParts + 1) * partBytes <= this.#stored) this.#send(this.#sentParts);
  }

  #send(part: number): void {
    this.#sentParts = part + 1;
    this.#sending = this.#sending.then(async () => {
      if (this.#failure !== null) return;
      try {
        const { db, lease } = this.#options;
        const n = await this.#open();
        const bytes = new Uint8Array(Math.min(partBytes, this.#stored - part * partBytes));
        const count = readSync(this.#fd!, bytes, 0, bytes.length, part * partBytes);
        await db.call("save_blob", lease.session, lease.epoch, n, part, bytes.subarray(0, count));
      } catch (error) {
        this.#failure = error;
      }
    });
  }

  #open(): Promise<number> {
    const { db, lease, call, source } = this.#options;
    return (this.#number ??= db.call<number>("open_handle", lease.session, lease.epoch, call, source, Bun.randomUUIDv7()));
  }

  async #record(metadata: HandleMetadata): Promise<Handle> {
    this.#spill();
    const { db, lease, source } = this.#options;
    const headBytes = this.#stored;
    this.#writeFile(this.#tail?.bytes() ?? new Uint8Array(0));
    this.#sendFullParts();
    if (this.#sentParts * partBytes < this.#stored) this.#send(this.#sentParts);
    await this.#sending;
    if (this.#failure !== null) throw this.#failure;
    const keptBytes = this.#stored;
    const sha256 = this.#hash.digest("hex");
    const fullMetadata: HandleMetadata = { ...metadata, bytes: this.#total, keptBytes, sha256 };
    const n = await this.#open();
    const row = { bytes: this.#total, keptBytes, headBytes, sha256, metadata: JSON.stringify(fullMetadata) };
    await db.call("close_handle", lease.session, lease.epoch, n, packedJson(row));
    return { source, sourceVersion: "1", identifier: `${lease.session}/${n}`, metadata: fullMetadata };
  }

  /** Deletes what was sent of an output that is small enough for its node. */
  async #discard(): Promise<void> {
    if (this.#number === null) return;
    const { db, lease } = this.#options;
    await db.call("drop_handle", lease.session, lease.epoch, await this.#number);
  }
}

type OutputRow = { session: number; bytes: number | null; kept_bytes: number | null; head_bytes: number | null };

/** Reads the output part by part. One line stands for bytes that were not stored and says how many. */
export async function readOutput(db: PgDb, identifier: string): Promise<ReadableStream<Uint8Array>> {
  const [, session = "", number = "0"] = /^([^/]+)\/(\d{1,9})$/.exec(identifier) ?? [];
  const row = await db.row<OutputRow>(sql`
    select h.session, h.bytes, h.kept_bytes, h.head_bytes from skein.handles h
    where h.session = (select n from skein.sessions where id = ${session}::text) and h.n = ${Number(number)}::bigint`);
  if (!row) throw new Fault("file-unreadable", `there is no output "${identifier}"`, { hint: "an output is named <session>/<number>" });
  const missing = (row.bytes ?? 0) - (row.kept_bytes ?? 0);
  const notice = new TextEncoder().encode(`\n[... ${missing} bytes not kept ...]\n`);
  const gapAt = missing > 0 ? (row.head_bytes ?? 0) : Infinity;
  let part = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const bytes = await db.bytes(
        sql`select bytes from skein.blobs where session = ${row.session}::bigint and n = ${Number(number)}::bigint and part = ${part}::int`,
      );
      if (bytes === null) {
        controller.close();
        return;
      }
      const position = gapAt - part * partBytes;
      part += 1;
      if (position < 0 || position > bytes.length) {
        controller.enqueue(bytes);
        return;
      }
      // A stream must not get an empty chunk.
      for (const chunk of [bytes.subarray(0, position), notice, bytes.subarray(position)]) if (chunk.length > 0) controller.enqueue(chunk);
    },
  });
}
