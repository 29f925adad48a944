// Files that are too big to be stored. A snapshot has only the hash of their content, as a link to a commit that does
// not exist. A hashed file is not read again while its size, times and inode stay the same.
import { readFileSync, renameSync, writeFileSync, type Stats } from "node:fs";
import { join } from "node:path";
import { runGit, type ShadowRepository } from "../git.ts";

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

  /** The ids of the files, in order. git reads their content, in its sandbox. */
  async idsOf(shadow: ShadowRepository, files: ReadonlyMap<string, Stats>, signal: AbortSignal): Promise<Map<string, string>> {
    const unknown = [...files].filter(([path, stat]) => !this.isUnchanged(path, stat));
    // git reads one path per line.
    const [hashed, unhashed] = partition(unknown, ([path, stat]) => stat.size <= maxHashedBytes && !path.includes("\n"));
    const ids = hashed.length === 0 ? [] : await hashFiles(shadow, hashed, signal);
    for (const [index, [path, stat]] of hashed.entries()) this.#remember(path, stat, ids[index]!);
    for (const [path, stat] of unhashed) this.#remember(path, stat, hash(keyOf(stat)));
    return new Map([...files.keys()].map((path) => [path, this.#hashes[path]!.id]));
  }

  #remember(path: string, stat: Stats, id: string): void {
    this.#hashes[path] = { key: keyOf(stat), id };
    this.#isChanged = true;
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

async function hashFiles(shadow: ShadowRepository, files: [string, Stats][], signal: AbortSignal): Promise<string[]> {
  const stdin = Buffer.from(files.map(([path]) => `${path}\n`).join(""), "latin1");
  const output = await runGit(shadow, ["hash-object", "--no-filters", "--stdin-paths"], { stdin, signal });
  return output.toString().trim().split("\n");
}

function partition<Item>(items: Item[], test: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}
