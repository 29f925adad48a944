// Bounds the size of all stored outputs together. Over the bound, outputs of sessions that are not running are cut to head and
// tail: archived sessions first, then the oldest outputs. If that is not enough, new outputs are stored as head and tail only.
import { statSync, statfsSync } from "node:fs";
import type { Db } from "../db.ts";
import { isHeld, type LeaseHolder } from "../lease.ts";
import type { OutputFiles } from "./output-files.ts";

const maxTotalBytes = 20 * 2 ** 30;
const maxDiskShare = 0.1;
/** Head and tail of an output that was cut, each. Smaller outputs are never cut. */
const cutBytes = 1 << 20;
/** The total is summed up after this many new bytes: the sum reads every row. */
const checkEveryBytes = 64 << 20;

type OutputTotalOptions = { db: Db; files: OutputFiles; self: () => LeaseHolder; directory: string | null; maxBytes?: number };

export class OutputTotal {
  readonly #options: OutputTotalOptions;
  #newBytes = Infinity;
  #isFull = false;

  constructor(options: OutputTotalOptions) {
    this.#options = options;
  }

  /** Counts bytes that were written, and makes room if needed. Returns the most bytes that the head of an output may have. */
  add(bytes: number, headBytes: number): number {
    this.#newBytes += bytes;
    if (this.#newBytes > Math.min(checkEveryBytes, (this.#options.maxBytes ?? Infinity) / 16)) {
      this.#newBytes = 0;
      this.#isFull = !this.#makeRoom();
    }
    return this.#isFull ? Math.min(headBytes, cutBytes) : headBytes;
  }

  /** Returns false if outputs of running sessions alone reach the bound. */
  #makeRoom(): boolean {
    const { db, files, self, directory, maxBytes = limitFor(directory) } = this.#options;
    let total = totalBytes(db, files);
    if (total < maxBytes) return true;
    for (const row of cuttableOutputs(db)) {
      if (isHeld(db, row.session, self())) continue;
      total -= cutOutput(db, files, row);
      if (total < maxBytes) return true;
    }
    return false;
  }
}

/** Includes outputs that are being written, and outputs whose process was killed. */
function totalBytes(db: Db, files: OutputFiles): number {
  const { bytes } = db.row<{ bytes: number | null }>`select sum(kept_bytes) as bytes from handles`!;
  const open = db.rows<{ identifier: string }>`
    select s.id || '/' || h.n as identifier from handles h join sessions s on s.n = h.session where h.closed_at is null`;
  return open.reduce((sum, { identifier }) => sum + (files.size(identifier) ?? 0), bytes ?? 0);
}

type CuttableOutput = { session: number; n: number; identifier: string; bytes: number; kept_bytes: number; metadata: string };

function cuttableOutputs(db: Db): CuttableOutput[] {
  return db.rows<CuttableOutput>`
    select h.session, h.n, s.id || '/' || h.n as identifier, h.bytes, h.kept_bytes, h.metadata
    from handles h join sessions s on s.n = h.session
    where h.kept_bytes > ${2 * cutBytes} order by s.archived_at is null, h.closed_at`;
}

/** Returns the number of freed bytes. */
function cutOutput(db: Db, files: OutputFiles, { session, n, identifier, kept_bytes, metadata }: CuttableOutput): number {
  const cut = files.cut(identifier, cutBytes);
  if (cut === null) return 0;
  const keptBytes = 2 * cutBytes;
  const changed = JSON.stringify({ ...(JSON.parse(metadata) as object), keptBytes, sha256: cut.sha256 });
  try {
    db.writeNow(() => {
      db.run`
        update handles set kept_bytes = ${keptBytes}, head_bytes = ${cutBytes}, sha256 = ${cut.sha256}, metadata = ${changed}
        where session = ${session} and n = ${n}`;
      cut.publish();
    });
  } catch (error) {
    cut.discard();
    throw error;
  }
  return kept_bytes - keptBytes;
}

function limitFor(directory: string | null): number {
  if (directory === null) return maxTotalBytes;
  try {
    statSync(directory);
    const { blocks, bsize } = statfsSync(directory);
    return Math.min(maxTotalBytes, blocks * bsize * maxDiskShare);
  } catch {
    // The directory is created with the first output.
    return maxTotalBytes;
  }
}
