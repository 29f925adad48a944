// Stores whole outputs of tools outside of the tree. A small output stays in memory and in its node.
// A big one is written to a file as it arrives, so that a killed process loses none of it. Memory use is bounded.
import { writeSync } from "node:fs";
import { Fault } from "../../../protocol/api/error.ts";
import type { Handle, HandleMetadata } from "../../../protocol/tree/handle.ts";
import type { OutputSink } from "../../../protocol/api/ports.ts";
import type { Db } from "../db.ts";
import { storeFault } from "../faults.ts";
import { requireLease } from "../lease.ts";
import type { OutputFiles } from "./output-files.ts";
import type { OutputTotal } from "./output-total.ts";
import type { Lease } from "../../store.ts";

export type OutputBounds = {
  /** An output of at most this size stays in memory. */
  memoryBytes: number;
  /** Stored bytes from the start of an output. */
  headBytes: number;
  /** Stored bytes from the end of an output that is longer than `headBytes`. */
  tailBytes: number;
  /** The bound of all stored outputs together. Default: 20 GB, or a tenth of a smaller disk. */
  totalBytes?: number;
};

export const outputBounds: OutputBounds = { memoryBytes: 32 << 10, headBytes: 1 << 30, tailBytes: 1 << 20 };

export type StoredOutputOptions = {
  db: Db;
  files: OutputFiles;
  bounds: OutputBounds;
  /** The size of all outputs in the store. */
  total: OutputTotal;
  lease: Lease;
  call: string;
  source: string;
};

export class StoredOutput implements OutputSink {
  readonly #options: StoredOutputOptions;
  readonly #hash = new Bun.CryptoHasher("sha256");
  #memory: Uint8Array[] = [];
  #file: { n: number; identifier: string; fd: number } | null = null;
  #total = 0;
  #head = 0;
  #tail: RingBuffer | null = null;
  #failure: unknown = null;
  #isClosed = false;

  constructor(options: StoredOutputOptions) {
    this.#options = options;
  }

  /** Never throws. After an error nothing more is stored, and `close` throws the error. */
  write(chunk: Uint8Array): void {
    this.#total += chunk.length;
    if (this.#failure !== null || this.#isClosed) return;
    if (this.#file === null && this.#total <= this.#options.bounds.memoryBytes) {
      this.#memory.push(chunk.slice());
      return;
    }
    try {
      this.#spill();
      this.#store(chunk);
    } catch (error) {
      this.#failure = error;
      this.#memory = [];
      this.#abandon();
    }
  }

  async close(metadata: HandleMetadata, inlineBytes: number): Promise<Handle | null> {
    const { db, files, call } = this.#options;
    if (this.#isClosed) throw new Fault("internal", `the output of call ${call} was closed twice`);
    this.#isClosed = true;
    try {
      if (this.#failure !== null) throw this.#failure;
      if (this.#total > inlineBytes) return await this.#record(metadata);
      this.#discard();
      return null;
    } catch (error) {
      throw storeFault(error, db.path);
    } finally {
      if (this.#file) files.release(this.#file.identifier, this.#file.fd);
      this.#memory = [];
      this.#tail = null;
    }
  }

  /** Moves the output from memory to a file, once. */
  #spill(): void {
    if (this.#file) return;
    const { db, files, lease, call, source } = this.#options;
    const n = db.writeNow(() => {
      const target = requireLease(db, lease);
      const { outputs } = db.row<{ outputs: number }>`update sessions set outputs = outputs + 1 where n = ${target.n} returning outputs`!;
      db.run`
        insert into handles (session, n, call, source, opened_at) values (${target.n}, ${outputs}, ${call}, ${source}, ${Date.now()})`;
      return outputs;
    });
    const identifier = `${lease.session}/${n}`;
    this.#file = { n, identifier, fd: files.create(identifier) };
    for (const chunk of this.#memory) this.#store(chunk);
    this.#memory = [];
  }

  #store(chunk: Uint8Array): void {
    if (this.#tail) {
      this.#tail.push(chunk);
      return;
    }
    const { bounds, total } = this.#options;
    const { tailBytes } = bounds;
    const available = Math.max(0, total.add(chunk.length, bounds.headBytes) - this.#head);
    const headPart = chunk.length <= available ? chunk.length : wholeCharacters(chunk, available);
    this.#writeFile(chunk.subarray(0, headPart));
    this.#head += headPart;
    if (headPart === chunk.length) return;
    this.#tail = new RingBuffer(tailBytes);
    this.#tail.push(chunk.subarray(headPart));
  }

  #writeFile(bytes: Uint8Array): void {
    for (let written = 0; written < bytes.length;) written += writeSync(this.#file!.fd, bytes, written);
    this.#hash.update(bytes);
  }

  /** Deletes the file and its row. */
  #discard(): void {
    if (!this.#file) return;
    const { db, files, lease } = this.#options;
    const { n, identifier, fd } = this.#file;
    this.#file = null;
    files.release(identifier, fd);
    files.remove(identifier);
    db.writeNow(() => db.run`delete from handles where session = ${requireLease(db, lease).n} and n = ${n}`);
  }

  /** Deletes an output that could not be written whole, so that a full disk gets its space back. */
  #abandon(): void {
    this.#tail = null;
    try {
      this.#discard();
    } catch {
      // The row stays as an output that was never closed. No node points at it.
    }
  }

  async #record(metadata: HandleMetadata): Promise<Handle> {
    this.#spill();
    const { db, lease, source } = this.#options;
    const tail = this.#tail?.bytes() ?? new Uint8Array(0);
    this.#writeFile(tail);
    const keptBytes = this.#head + tail.length;
    const sha256 = this.#hash.digest("hex");
    const fullMetadata: HandleMetadata = { ...metadata, bytes: this.#total, keptBytes, sha256 };
    const { n, identifier } = this.#file!;
    await db.write(() => {
      const target = requireLease(db, lease);
      db.run`
        update handles set closed_at = ${Date.now()}, bytes = ${this.#total}, kept_bytes = ${keptBytes}, head_bytes = ${this.#head},
          sha256 = ${sha256}, metadata = ${JSON.stringify(fullMetadata)} where session = ${target.n} and n = ${n}`;
    });
    return { source, sourceVersion: "1", identifier, metadata: fullMetadata };
  }
}

/** Holds the last bytes of a stream. */
export class RingBuffer {
  readonly #ring: Uint8Array;
  #position = 0;
  #total = 0;

  constructor(size: number) {
    this.#ring = new Uint8Array(size);
  }

  push(chunk: Uint8Array): void {
    this.#total += chunk.length;
    const end = chunk.subarray(Math.max(0, chunk.length - this.#ring.length));
    const first = end.subarray(0, this.#ring.length - this.#position);
    this.#ring.set(first, this.#position);
    this.#ring.set(end.subarray(first.length), 0);
    this.#position = (this.#position + end.length) % this.#ring.length;
  }

  /** Starts with a whole character if bytes before it are missing. */
  bytes(): Uint8Array {
    if (this.#total <= this.#ring.length) return this.#ring.slice(0, this.#total);
    const bytes = Buffer.concat([this.#ring.subarray(this.#position), this.#ring.subarray(0, this.#position)]);
    let skip = 0;
    while (skip < 3 && isContinuation(bytes[skip])) skip += 1;
    return bytes.subarray(skip);
  }
}

/** The largest length up to `limit` that does not cut a character. */
export function wholeCharacters(chunk: Uint8Array, limit: number): number {
  let cut = limit;
  while (cut > 0 && limit - cut < 3 && isContinuation(chunk[cut])) cut -= 1;
  return isContinuation(chunk[cut]) ? limit : cut;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
