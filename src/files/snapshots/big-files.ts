// Files that are too big to be stored. A snapshot has only the hash of their content, as a link to a commit that does
// not exist. A hashed file is not read again while its size, times and inode stay the same.
import { readFileSync, renameSync, writeFileSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";

export const bigFileBytes = 5 << 20;

/** git's mode of a link to a commit of another repository. Snapshots never have real ones. */
export const bigFileMode = "160000";

/** Bigger files are compared by size and times only. */
const maxHashedBytes = 1 << 30;

type Hashes = Record<string, { key: string; id: string }>;

export class BigFiles {
  readonly #file: string;
  readonly #hashes: Hashes;
  #isChanged = false;

  constructor(shadowDir: string) {
    this.#file = join(shadowDir, "big.json");
    this.#hashes = read(this.#file);
  }

  isUnchanged(path: string, stat: Stats): boolean {
    return this.#hashes[path]?.key === keyOf(stat);
  }

  async idOf(path: string, absolute: Buffer, stat: Stats): Promise<string> {
    const key = keyOf(stat);
    const cached = this.#hashes[path];
    if (cached?.key === key) return cached.id;
    const id = stat.size > maxHashedBytes ? hash(key) : await hashFile(absolute);
    this.#hashes[path] = { key, id };
    this.#isChanged = true;
    return id;
  }

  forget(path: string): void {
    if (this.#hashes[path] === undefined) return;
    delete this.#hashes[path];
    this.#isChanged = true;
  }

  /** Call it after the index was written. A list older than the index only costs a second hash. */
  save(): void {
    if (!this.#isChanged) return;
    const temporary = `${this.#file}.${process.pid}`;
    writeFileSync(temporary, JSON.stringify(this.#hashes), { mode: 0o600 });
    renameSync(temporary, this.#file);
  }
}

function read(file: string): Hashes {
  try {
    return Object.assign(Object.create(null), JSON.parse(readFileSync(file, "utf8"))) as Hashes;
  } catch {
    return Object.create(null) as Hashes;
  }
}

function keyOf(stat: Stats): string {
  return `${stat.size} ${stat.mtimeMs} ${stat.ctimeMs} ${stat.ino}`;
}

function hash(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 40);
}

async function hashFile(path: Buffer): Promise<string> {
  const sum = new Bun.CryptoHasher("sha256");
  const file = await open(path, "r");
  try {
    const chunk = Buffer.allocUnsafe(1 << 20);
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
      if (bytesRead === 0) return sum.digest("hex").slice(0, 40);
      sum.update(chunk.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}
