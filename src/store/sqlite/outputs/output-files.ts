// Stores the full outputs of tools in files: `<directory>/<session>/<n>`. A file is readable only by its user, written once
// and read as a stream.
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { statPath } from "../../../kit/files/path-status.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Db } from "../db.ts";
import { errorCode } from "../faults.ts";

export type CutFile = { sha256: string; publish: () => void; discard: () => void };

/** Without a directory, outputs are in unlinked temporary files, which the kernel deletes when the process ends. */
export class OutputFiles {
  readonly #directory: string | null;
  readonly #unlinked = new Map<string, number>();

  constructor(directory: string | null) {
    this.#directory = directory;
  }

  create(identifier: string): number {
    if (this.#directory === null) {
      const path = join(tmpdir(), `skein-${Bun.randomUUIDv7()}`);
      const fd = openSync(path, "wx+", 0o600);
      unlinkSync(path);
      this.#unlinked.set(identifier, fd);
      return fd;
    }
    const path = join(this.#directory, identifier);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, "wx+", 0o600);
  }

  /** Returns a file descriptor to read from. The caller must `release` it after the last read. */
  open(identifier: string): number {
    const fd = this.#unlinked.get(identifier);
    if (fd !== undefined) return fd;
    try {
      if (this.#directory !== null) return openSync(join(this.#directory, identifier), "r");
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
    }
    throw new Fault("file-unreadable", `the file of output ${identifier} is missing`, {
      hint: "`skein verify` lists missing files",
    });
  }

  release(identifier: string, fd: number): void {
    if (!this.#unlinked.has(identifier)) closeSync(fd);
  }

  remove(identifier: string): void {
    const fd = this.#unlinked.get(identifier);
    if (fd !== undefined) {
      this.#unlinked.delete(identifier);
      closeSync(fd);
    } else if (this.#directory !== null) unlinkSync(join(this.#directory, identifier));
  }

  /** Null if there is no file. */
  size(identifier: string): number | null {
    const fd = this.#unlinked.get(identifier);
    if (fd !== undefined) return fstatSync(fd).size;
    return this.#directory === null ? null : (statPath(join(this.#directory, identifier))?.size ?? null);
  }

  /** Writes head and tail of an output, `bytes` each, to a new file. `publish` replaces the old file. Null if it can't be cut. */
  cut(identifier: string, bytes: number): CutFile | null {
    if (this.#directory === null || (this.size(identifier) ?? 0) <= 2 * bytes) return null;
    const path = join(this.#directory, identifier);
    const content = Buffer.alloc(2 * bytes);
    const fd = openSync(path, "r");
    try {
      readSync(fd, content, 0, bytes, 0);
      readSync(fd, content, bytes, bytes, fstatSync(fd).size - bytes);
    } finally {
      closeSync(fd);
    }
    const temporary = join(this.#directory, `cut-${Bun.randomUUIDv7()}`);
    writeFileSync(temporary, content, { mode: 0o600, flag: "wx" });
    return {
      sha256: new Bun.CryptoHasher("sha256").update(content).digest("hex"),
      publish: () => renameSync(temporary, path),
      discard: () => rmSync(temporary, { force: true }),
    };
  }

  /** The identifiers of all files. */
  list(): string[] {
    if (this.#directory === null || !existsSync(this.#directory)) return [];
    return readdirSync(this.#directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap((entry) => readdirSync(join(entry.parentPath, entry.name)).map((name) => `${entry.name}/${name}`));
  }

  /** Removes the directory of a session if it is empty. */
  removeDirectoryIfEmpty(session: string): void {
    if (this.#directory === null) return;
    try {
      rmdirSync(join(this.#directory, session));
    } catch (error) {
      if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(errorCode(error))) throw error;
    }
  }

  close(): void {
    for (const fd of this.#unlinked.values()) closeSync(fd);
    this.#unlinked.clear();
  }
}

type OutputRow = { bytes: number | null; kept_bytes: number | null; head_bytes: number | null };

/** Reads the output. One line stands for bytes that were not stored and says how many. */
export function readOutput(db: Db, files: OutputFiles, identifier: string): ReadableStream<Uint8Array> {
  const [, session = "", n = ""] = /^([^/]+)\/(\d+)$/.exec(identifier) ?? [];
  const row = db.row<OutputRow>`
    select bytes, kept_bytes, head_bytes from handles
    where session = (select n from sessions where id = ${session}) and n = ${Number(n)}`;
  if (!row) throw new Fault("file-unreadable", `there is no output "${identifier}"`, { hint: "an output is named <session>/<number>" });
  const missingBytes = (row.bytes ?? 0) - (row.kept_bytes ?? 0);
  return readOutputFile(files, identifier, missingBytes > 0 ? { position: row.head_bytes ?? 0, bytes: missingBytes } : null);
}

/** `bytes` bytes of the output were not stored. They belong at `position` in the file. */
type Gap = { position: number; bytes: number };

/** Reads the file, with one line in the place of the gap. */
export function readOutputFile(files: OutputFiles, identifier: string, gap: Gap | null = null): ReadableStream<Uint8Array> {
  const fd = files.open(identifier);
  let position = 0;
  let nextGap = gap;
  return new ReadableStream<Uint8Array>({
    type: "bytes",
    pull(controller) {
      if (position === nextGap?.position) {
        controller.enqueue(new TextEncoder().encode(`\n[... ${nextGap.bytes} bytes not kept ...]\n`));
        nextGap = null;
        return;
      }
      const bytes = new Uint8Array(nextGap ? Math.min(maxChunkBytes, nextGap.position - position) : maxChunkBytes);
      const count = readSync(fd, bytes, 0, bytes.length, position);
      position += count;
      if (count > 0) controller.enqueue(bytes.subarray(0, count));
      else {
        files.release(identifier, fd);
        controller.close();
      }
    },
    cancel: () => files.release(identifier, fd),
  });
}

const maxChunkBytes = 256 << 10;
