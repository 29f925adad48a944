// Whole outputs of tools, outside the tree: small ones stay in memory and in their node, big ones go to a file as they
// arrive, so that a killed process loses nothing that was printed. Memory is bounded however much comes.
import { writeSync } from "node:fs";
import { Fault } from "../../../protocol/api/error.ts";
import type { Handle, HandleMetadata } from "../../../protocol/tree/handle.ts";
import type { OutputSink } from "../../../protocol/api/ports.ts";
import type { Db } from "../db.ts";
import { storeFault } from "../faults.ts";
import { requireLease } from "../lease.ts";
import type { OutputFiles } from "./output-files.ts";
import type { Lease } from "../../store.ts";

export type OutputBounds = {
  /** Up to here an output stays in memory. */
  memoryBytes: number;
  /** Of a longer one this much is kept from its beginning, */
  headBytes: number;
  /** and this much from its end. */
  tailBytes: number;
};

export const outputBounds: OutputBounds = { memoryBytes: 32 << 10, headBytes: 1 << 30, tailBytes: 1 << 20 };

export type StoredOutputOptions = { db: Db; files: OutputFiles; bounds: OutputBounds; lease: Lease; call: string; source: string };

export class StoredOutput implements OutputSink {
  readonly #db: Db;
  readonly #files: OutputFiles;
  readonly #lease: Lease;
  readonly #call: string;
  readonly #source: string;
  readonly #bounds: OutputBounds;
  readonly #hash = new Bun.CryptoHasher("sha256");
  #memory: Uint8Array[] = [];
  #file: { n: number; identifier: string; fd: number } | null = null;
  #total = 0;
  #head = 0;
  #tail: RingBuffer | null = null;
  #failure: unknown = null;
  #isClosed = false;

  constructor({ db, files, bounds, lease, call, source }: StoredOutputOptions) {
    this.#db = db;
    this.#files = files;
    this.#lease = lease;
    this.#call = call;
    this.#source = source;
    this.#bounds = bounds;
  }

  /** Never throws: what went wrong is told by `close`, and nothing more is kept. */
  write(chunk: Uint8Array): void {
    this.#total += chunk.length;
    if (this.#failure !== null || this.#isClosed) return;
    if (this.#file === null && this.#total <= this.#bounds.memoryBytes) {
      this.#memory.push(chunk.slice());
      return;
    }
    try {
      this.#spill();
      this.#keep(chunk);
    } catch (error) {
      this.#failure = error;
      this.#memory = [];
      this.#abandon();
    }
  }

  async close(metadata: HandleMetadata, inlineBytes: number): Promise<Handle | null> {
    if (this.#isClosed) throw new Fault("internal", `The output of call ${this.#call} was closed twice.`);
    this.#isClosed = true;
    try {
      if (this.#failure !== null) throw this.#failure;
      return this.#total <= inlineBytes ? this.#discard() : this.#record(metadata);
    } catch (error) {
      throw storeFault(error, this.#db.path);
    } finally {
      if (this.#file) this.#files.release(this.#file.identifier, this.#file.fd);
      this.#memory = [];
      this.#tail = null;
    }
  }

  /** Moves what is in memory to a file, once. */
  #spill(): void {
    if (this.#file) return;
    const { session } = this.#lease;
    const n = this.#db.write(() => {
      const target = requireLease(this.#db, this.#lease);
      const { outputs } = this.#db
        .query<{ outputs: number }>("update sessions set outputs = outputs + 1 where n = ? returning outputs")
        .get(target.n)!;
      this.#db
        .query("insert into handles (session, n, call, source, opened_at) values (?, ?, ?, ?, ?)")
        .run(target.n, outputs, this.#call, this.#source, Date.now());
      return outputs;
    });
    const identifier = `${session}/${n}`;
    this.#file = { n, identifier, fd: this.#files.create(identifier) };
    for (const chunk of this.#memory) this.#keep(chunk);
    this.#memory = [];
  }

  #keep(chunk: Uint8Array): void {
    if (this.#tail) {
      this.#tail.push(chunk);
      return;
    }
    const room = this.#bounds.headBytes - this.#head;
    const fits = chunk.length <= room ? chunk.length : wholeCharacters(chunk, room);
    this.#put(chunk.subarray(0, fits));
    this.#head += fits;
    if (fits === chunk.length) return;
    this.#tail = new RingBuffer(this.#bounds.tailBytes);
    this.#tail.push(chunk.subarray(fits));
  }

  #put(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;) done += writeSync(this.#file!.fd, bytes, done);
    this.#hash.update(bytes);
  }

  #discard(): null {
    if (!this.#file) return null;
    const { n, identifier } = this.#file;
    this.#forget(n);
    this.#files.release(identifier, this.#file.fd);
    this.#file = null;
    this.#files.remove(identifier);
    return null;
  }

  /** What could not be written whole is not kept at all: on a full disk its space is worth more. */
  #abandon(): void {
    this.#tail = null;
    if (!this.#file) return;
    const { n, identifier, fd } = this.#file;
    this.#file = null;
    try {
      this.#files.release(identifier, fd);
      this.#files.remove(identifier);
      this.#forget(n);
    } catch {
      // Then it stays an output that was never closed; no node points at it.
    }
  }

  #forget(n: number): void {
    this.#db.write(() => {
      const target = requireLease(this.#db, this.#lease);
      this.#db.query("delete from handles where session = ? and n = ?").run(target.n, n);
    });
  }

  #record(metadata: HandleMetadata): Handle {
    this.#spill();
    const tail = this.#tail?.bytes() ?? new Uint8Array(0);
    this.#put(tail);
    const kept = this.#head + tail.length;
    const sha256 = this.#hash.digest("hex");
    const whole: HandleMetadata = { ...metadata, bytes: this.#total, keptBytes: kept, sha256 };
    const { n, identifier } = this.#file!;
    this.#db.write(() => {
      const target = requireLease(this.#db, this.#lease);
      this.#db
        .query(
          "update handles set closed_at = ?, bytes = ?, kept_bytes = ?, head_bytes = ?, sha256 = ?, metadata = ? where session = ? and n = ?",
        )
        .run(Date.now(), this.#total, kept, this.#head, sha256, JSON.stringify(whole), target.n, n);
    });
    return { source: this.#source, sourceVersion: "1", identifier, metadata: whole };
  }
}

/** The end of a stream, in a ring. */
class RingBuffer {
  readonly #ring: Uint8Array;
  #at = 0;
  #seen = 0;

  constructor(size: number) {
    this.#ring = new Uint8Array(size);
  }

  push(chunk: Uint8Array): void {
    this.#seen += chunk.length;
    const end = chunk.subarray(Math.max(0, chunk.length - this.#ring.length));
    const first = end.subarray(0, this.#ring.length - this.#at);
    this.#ring.set(first, this.#at);
    this.#ring.set(end.subarray(first.length), 0);
    this.#at = (this.#at + end.length) % this.#ring.length;
  }

  /** Begins with a whole character when something before it is missing. */
  bytes(): Uint8Array {
    if (this.#seen <= this.#ring.length) return this.#ring.slice(0, this.#seen);
    const bytes = new Uint8Array(this.#ring.length);
    bytes.set(this.#ring.subarray(this.#at), 0);
    bytes.set(this.#ring.subarray(0, this.#at), this.#ring.length - this.#at);
    let skip = 0;
    while (skip < 3 && isContinuation(bytes[skip])) skip += 1;
    return bytes.subarray(skip);
  }
}

/** How many of the first `limit` bytes do not cut a character. */
function wholeCharacters(chunk: Uint8Array, limit: number): number {
  let cut = limit;
  while (cut > 0 && limit - cut < 3 && isContinuation(chunk[cut])) cut -= 1;
  return isContinuation(chunk[cut]) ? limit : cut;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
