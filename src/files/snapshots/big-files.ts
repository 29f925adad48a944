// Files too big to be kept. They are in a recorded tree as an id made from their content: a link to a commit that
// exists nowhere. What was hashed once is not read again while its size, times and inode stay.
import { readFileSync, renameSync, writeFileSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";

export const bigFileBytes = 5 << 20;

/** git's mode of a link to another repository's commit; other repositories are never recorded. */
export const bigFileMode = "160000";

/** Beyond this a file is told from another by its size and times. */
const mostHashedBytes = 1 << 30;

type Known = Record<string, { key: string; id: string }>;

export class BigFiles {
  readonly #file: string;
  readonly #known: Known;
  #isChanged = false;

  constructor(shadowDir: string) {
    this.#file = join(shadowDir, "big.json");
    this.#known = read(this.#file);
  }

  isUnchanged(path: string, stat: Stats): boolean {
    return this.#known[path]?.key === keyOf(stat);
  }

  async idOf(path: string, absolute: Buffer, stat: Stats): Promise<string> {
    const key = keyOf(stat);
    const known = this.#known[path];
    if (known?.key === key) return known.id;
    const id = stat.size > mostHashedBytes ? hash(key) : await hashFile(absolute);
    this.#known[path] = { key, id };
    this.#isChanged = true;
    return id;
  }

  forget(path: string): void {
    if (this.#known[path] === undefined) return;
    delete this.#known[path];
    this.#isChanged = true;
  }

  /** After the index was written: a list that is behind it only costs a second look. */
  save(): void {
    if (!this.#isChanged) return;
    const half = `${this.#file}.${process.pid}`;
    writeFileSync(half, JSON.stringify(this.#known), { mode: 0o600 });
    renameSync(half, this.#file);
  }
}

function read(file: string): Known {
  try {
    return Object.assign(Object.create(null), JSON.parse(readFileSync(file, "utf8"))) as Known;
  } catch {
    return Object.create(null) as Known;
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
