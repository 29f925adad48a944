// The last snapshot of a project in memory, with the status of each file and directory. The next snapshot reads only files
// whose status has changed, and starts git only for new names. Never writes to the project.
import { lstatSync, readdirSync, readlinkSync, type Stats } from "node:fs";
import { linkStatus } from "../../kit/files/path-status.ts";
import { openDirectorySafely, ownersFor, readSafely, type SafeDirectory, UnsafePathError } from "../../kit/files/safe-file.ts";
import { yieldToEventLoop } from "../../kit/flow/time-slice.ts";
import { absoluteBytes, type ShadowRepository } from "../git.ts";
import { readIgnoreRules, type NameMatcher } from "../ignore-rules.ts";
import { bigFileBytes, bigFileMode } from "./big-files.ts";
import { blobId, createObject, type GitObject, writeObject } from "./object-files.ts";

/** A change of the content changes at least one of these. */
export type FileStatus = Pick<Stats, "mode" | "size" | "ino" | "mtimeMs" | "ctimeMs">;

/** `status` is null if the file may have changed after it was read; then it is read again. */
export type KeptFile = { mode: string; id: string; status: FileStatus | null };
export type KeptDirectory = {
  /** Null for the project itself. */
  parent: KeptDirectory | null;
  files: Map<string, KeptFile>;
  directories: Map<string, KeptDirectory>;
  /** Names that are not stored, with their type: ignored files and directories, other repositories, pipes. */
  others: Map<string, number>;
  status: FileStatus | null;
  /** The id of its tree; empty for a directory without files, which git does not store; null if it has changed. */
  tree: string | null;
  /** Set by the first snapshot that reads the directory. */
  place?: Place;
};

/** `prefix` is the absolute path with a slash at its end; null if it can't be passed as text. */
type Place = { path: string; prefix: string | null };

/** A path that decides what is stored: rules for ignored files by their content, other repositories by their existence. */
export type WatchedPath = { path: Buffer; by: "content" | "existence"; status: string | null };

/** Paths have one letter for each byte. */
type NewNames = string[];

/** git takes one argument for each name. A bigger change is its work anyway. */
const maxNewNames = 200;

/** The kept tree can't follow a change. git must take the snapshot. */
export class OutdatedError extends Error {
  override name = "OutdatedError";
}

/** Decides which new names are stored. */
type NameRules = {
  /** Arguments of `git ls-files` that leave out ignored files. */
  excludes: readonly string[];
  /** Asks git which of these files are stored. */
  findStored: (paths: NewNames) => Promise<Set<string>>;
};

export class KeptTree {
  readonly #shadow: ShadowRepository;
  readonly #root: KeptDirectory;
  readonly #watched: readonly WatchedPath[];
  readonly #rules: NameRules;
  /** The rules of .gitignore files by the id of their content. */
  readonly #matchers = new Map<string, NameMatcher>();
  /** The rules for all directories in the current snapshot; undefined until they are needed, null if git must read them. */
  #commonMatchers: NameMatcher[] | null | undefined;
  readonly #owners: number[];
  /** The project, open while files are read. */
  #directory: SafeDirectory | null = null;
  /** Objects of the last snapshots that are not written yet. */
  #unwritten: GitObject[] = [];
  #unwrittenBytes = 0;
  /** Whether something in it has changed since the caller set it to false. */
  isChanged = true;

  constructor(shadow: ShadowRepository, content: { root: KeptDirectory; watched: readonly WatchedPath[] }, rules: NameRules) {
    this.#shadow = shadow;
    this.#root = content.root;
    this.#watched = content.watched;
    this.#rules = rules;
    this.#owners = ownersFor(lstatSync(shadow.project));
  }

  get content(): { root: KeptDirectory; watched: readonly WatchedPath[] } {
    return { root: this.#root, watched: this.#watched };
  }

  /**
   * Returns the id of the tree of the current files. `writeObjects` must follow, so that the tree is stored. Throws
   * OutdatedError if git must take the snapshot.
   */
  async read(): Promise<string> {
    try {
      return await this.#readChanges();
    } finally {
      this.#directory?.close();
      this.#directory = null;
    }
  }

  async #readChanges(): Promise<string> {
    for (const { path, by, status } of this.#watched) if (watchPath(path, by).status !== status) throw new OutdatedError(path.toString());
    this.#commonMatchers = undefined;
    const newNames: NewNames = [];
    this.#root.place ??= { path: "", prefix: `${this.#shadow.project}/` };
    const pending = [this.#root];
    let sliceStart = performance.now();
    for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
      const place = directory.place!;
      this.#update(directory, place, newNames);
      for (const [name, child] of directory.directories) {
        child.place ??= { path: join(place.path, name), prefix: isPlain(name) && place.prefix !== null ? `${place.prefix}${name}/` : null };
        pending.push(child);
      }
      if (performance.now() - sliceStart < maxSliceMs) continue;
      await yieldToEventLoop();
      sliceStart = performance.now();
    }
    if (newNames.length > 0) await this.#addFiles(newNames);
    return this.#treeOf(this.#root) || this.#keep(createObject("tree", Buffer.alloc(0)));
  }

  /** Whether the last trees are stored. */
  get isWritten(): boolean {
    return this.#unwritten.length === 0;
  }

  /** Throws if an object can't be written. The next call tries it again. */
  writeObjects(): void {
    for (let next = this.#unwritten[0]; next !== undefined; next = this.#unwritten[0]) {
      writeObject(this.#shadow.dir, next);
      this.#unwritten.shift();
    }
    this.#unwrittenBytes = 0;
  }

  #keep(object: GitObject): string {
    this.#unwritten.push(object);
    this.#unwrittenBytes += object.bytes.length;
    if (this.#unwrittenBytes > maxUnwrittenBytes) this.writeObjects();
    return object.id;
  }

  /** Most files have not changed. For those it does nothing but to compare their status. */
  #update(directory: KeptDirectory, { path, prefix }: Place, newNames: NewNames): void {
    const stat = prefix === null ? this.#status(path) : statusOf(prefix);
    if (stat === null || !isSame(stat, directory.status)) this.#updateDirectory(directory, path, newNames);
    for (const [name, file] of directory.files) {
      const fileStat = prefix !== null && isPlain(name) ? statusOf(prefix + name) : this.#status(join(path, name));
      if (fileStat === null || !isSame(fileStat, file.status)) this.#updateFile(directory, { path: join(path, name), name, file });
    }
  }

  #updateDirectory(directory: KeptDirectory, path: string, newNames: NewNames): void {
    const now = Date.now();
    const stat = this.#status(path);
    if (stat === null || !stat.isDirectory()) throw new OutdatedError(path);
    this.isChanged = true;
    this.#readNames(directory, path, newNames);
    directory.status = settledStatus(stat, now);
  }

  /** Finds names that appeared, and drops directories that are gone. */
  #readNames(directory: KeptDirectory, path: string, newNames: NewNames): void {
    const names = new Set(readdirSync(absoluteBytes(this.#shadow, path), { encoding: "latin1" }));
    for (const name of names) {
      if (directory.files.has(name) || directory.directories.has(name)) continue;
      const stat = this.#status(join(path, name));
      const otherType = directory.others.get(name);
      if (otherType !== undefined && stat !== null && typeOf(stat) === otherType) continue;
      directory.others.delete(name);
      // A new directory may be ignored, and new rules or another repository change what is stored.
      if (name === ".gitignore" || name === ".git") throw new OutdatedError(join(path, name));
      if (stat?.isDirectory()) {
        if (!this.#isNeverIgnored(join(path, name))) throw new OutdatedError(join(path, name));
        const child = { files: new Map(), directories: new Map(), others: new Map(), status: null, tree: null };
        directory.directories.set(name, { parent: directory, ...child });
        markChanged(directory);
      } else if (stat !== null) newNames.push(join(path, name));
    }
    for (const name of directory.others.keys()) if (!names.has(name)) directory.others.delete(name);
    for (const name of directory.directories.keys()) {
      if (names.has(name)) continue;
      directory.directories.delete(name);
      markChanged(directory);
    }
  }

  #updateFile(directory: KeptDirectory, { path, name, file }: { path: string; name: string; file: KeptFile }): void {
    const now = Date.now();
    const stat = this.#status(path);
    this.isChanged = true;
    if (file.mode === bigFileMode || stat?.isDirectory() || (stat === null && name === ".gitignore")) throw new OutdatedError(path);
    if (stat === null) {
      directory.files.delete(name);
      markChanged(directory);
      return;
    }
    const { mode, id } = this.#versionOf(path, stat, file.id);
    if (mode !== file.mode || id !== file.id) {
      if (name === ".gitignore") throw new OutdatedError(path);
      markChanged(directory);
    }
    directory.files.set(name, { mode, id, status: settledStatus(stat, now) });
  }

  async #addFiles(paths: NewNames): Promise<void> {
    if (paths.length > maxNewNames) throw new OutdatedError(`${paths.length} new files`);
    const certain = new Set(paths.filter((path) => this.#isNeverIgnored(path)));
    const uncertain = paths.filter((path) => !certain.has(path));
    const stored = uncertain.length === 0 ? certain : await this.#rules.findStored(uncertain);
    for (const path of paths) {
      const { directory, name } = this.#locate(path);
      const now = Date.now();
      const stat = this.#status(path);
      if (stat === null) continue;
      if (stat.isDirectory()) throw new OutdatedError(path);
      const isStored = stored.has(path) || (certain.has(path) && (stat.isFile() || stat.isSymbolicLink()));
      if (!isStored) {
        directory.others.set(name, typeOf(stat));
        continue;
      }
      directory.files.set(name, { ...this.#versionOf(path, stat, null), status: settledStatus(stat, now) });
      markChanged(directory);
    }
  }

  /** Whether no rule can ignore the path. If it is not certain, git must decide. */
  #isNeverIgnored(path: string): boolean {
    if (this.#commonMatchers === undefined) this.#commonMatchers = this.#readCommonRules();
    if (this.#commonMatchers === null) return false;
    const matchers = [...this.#commonMatchers];
    const names = path.split("/");
    let directory = this.#root;
    for (const [depth, name] of names.entries()) {
      const rules = this.#readRules(directory, names.slice(0, depth).join("/"));
      if (rules === null) return false;
      matchers.push(rules);
      directory = directory.directories.get(name) ?? directory; // the last name is not kept yet
    }
    return !names.some((name) => matchers.some((mayMatch) => mayMatch(name)));
  }

  /** The rules of all directories: those of the arguments and of the file that they name. Null if that file can't be read. */
  #readCommonRules(): NameMatcher[] | null {
    const matchers: NameMatcher[] = [];
    for (const argument of this.#rules.excludes) {
      const [option, value = ""] = argument.split(/=(.*)/s);
      if (option === "--exclude") matchers.push(readIgnoreRules(value));
      if (option !== "--exclude-from") continue;
      const content = this.#tryRead(value, false);
      if (content === null) return null;
      matchers.push(readIgnoreRules(content.toString("latin1")));
    }
    return matchers;
  }

  /** The rules of a directory's own .gitignore. Null if they are not stored, or not those of its last snapshot. */
  #readRules({ files, others }: KeptDirectory, path: string): NameMatcher | null {
    if (others.has(".gitignore")) return null;
    const file = files.get(".gitignore");
    if (file === undefined) return () => false;
    const known = this.#matchers.get(file.id);
    if (known !== undefined) return known;
    const content = this.#tryRead(toText(Buffer.from(join(path, ".gitignore"), "latin1")), true);
    if (content === null || file.mode === "120000" || blobId(content) !== file.id) return null;
    const matcher = readIgnoreRules(content.toString("latin1"));
    this.#matchers.set(file.id, matcher);
    return matcher;
  }

  #locate(path: string): { directory: KeptDirectory; name: string } {
    const names = path.split("/");
    const name = names.pop()!;
    let directory = this.#root;
    for (const part of names) directory = directory.directories.get(part)!;
    return { directory, name };
  }

  #status(path: string): Stats | null {
    return statusOf(fastPath(this.#shadow, path));
  }

  /** Reads the content of a file or the target of a link. `id` is the stored content, if there is one. */
  #versionOf(path: string, stat: Stats, id: string | null): { mode: string; id: string } {
    const absolute = absoluteBytes(this.#shadow, path);
    const isLink = stat.isSymbolicLink();
    if (!isLink && (!stat.isFile() || stat.size > bigFileBytes)) throw new OutdatedError(path);
    const content = isLink ? readlinkSync(absolute, { encoding: "buffer" }) : this.#readFile(path);
    const mode = isLink ? "120000" : (stat.mode & 0o100) === 0 ? "100644" : "100755";
    const object = createObject("blob", content);
    return { mode, id: object.id === id ? id : this.#keep(object) };
  }

  /** git reads in its sandbox what can't be opened here: a file of another user, or one behind a link. */
  #readFile(path: string): Buffer {
    const content = this.#tryRead(toText(Buffer.from(path, "latin1")), true);
    if (content === null) throw new OutdatedError(path);
    return content;
  }

  /** The project is opened once for all files of a snapshot, because each component of its path is opened by itself. */
  #tryRead(path: string, isInProject: boolean): Buffer | null {
    try {
      const from = isInProject ? (this.#directory ??= openDirectorySafely(this.#shadow.project)) : undefined;
      return readSafely(path, { maxBytes: bigFileBytes, owners: this.#owners, hasOtherNames: true, from });
    } catch (error) {
      if (!(error instanceof UnsafePathError) && !(error instanceof Error && "code" in error)) throw error;
      return null;
    }
  }

  #treeOf(directory: KeptDirectory): string {
    if (directory.tree !== null) return directory.tree;
    const entries = [...directory.files].map(([name, { mode, id }]) => ({ name, sortName: name, mode, id }));
    for (const [name, child] of directory.directories) {
      const id = this.#treeOf(child);
      if (id !== "") entries.push({ name, sortName: `${name}/`, mode: "40000", id });
    }
    if (entries.length === 0) return (directory.tree = "");
    entries.sort((a, b) => (a.sortName < b.sortName ? -1 : 1));
    const rows = entries.flatMap(({ name, mode, id }) => [Buffer.from(`${mode} ${name}\0`, "latin1"), Buffer.from(id, "hex")]);
    directory.tree = this.#keep(createObject("tree", Buffer.concat(rows)));
    return directory.tree;
  }
}

const maxSliceMs = 5;

/** More new content is written at once instead of being kept in memory. */
const maxUnwrittenBytes = 1 << 20;

/** Throws OutdatedError for a path that is not UTF-8: it can't be passed as text. */
export function toText(path: Buffer): string {
  const text = path.toString("utf8");
  if (!Buffer.from(text).equals(path)) throw new OutdatedError(text);
  return text;
}

export function join(path: string, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}

/** The bits of the mode that tell files, directories, links and pipes apart. */
export function typeOf({ mode }: Stats): number {
  return mode & 0o170000;
}

export function watchPath(path: Buffer, by: WatchedPath["by"]): WatchedPath {
  const stat = linkStatus(path);
  const status = stat === undefined ? null : by === "content" ? `${stat.size} ${stat.ino} ${stat.mtimeMs} ${stat.ctimeMs}` : "exists";
  return { path, by, status };
}

function isSame(stat: Stats, status: FileStatus | null): boolean {
  return (
    status !== null &&
    stat.ctimeMs === status.ctimeMs &&
    stat.mtimeMs === status.mtimeMs &&
    stat.size === status.size &&
    stat.ino === status.ino &&
    stat.mode === status.mode
  );
}

function markChanged(directory: KeptDirectory): void {
  for (let changed: KeptDirectory | null = directory; changed !== null; changed = changed.parent) changed.tree = null;
}

/** A path of printable ASCII letters is the same as text, which costs less than bytes. */
export function fastPath(shadow: ShadowRepository, path: string): string | Buffer {
  if (path === "") return shadow.project;
  return isPlain(path) ? `${shadow.project}/${path}` : absoluteBytes(shadow, path);
}

function isPlain(name: string): boolean {
  return !/[^ -~]/.test(name);
}

/** Null if there is no such file, or none that this user can see. */
function statusOf(path: string | Buffer): Stats | null {
  return linkStatus(path) ?? null;
}

/** The kernel's time of a change may be this much behind the clock. */
const clockDelayMs = 20;
/** Some file systems store whole seconds, or two of them. */
const coarseDelayMs = 2_100;

/** The status, if a change after the time `at` would have another one. Otherwise null: the file must be read again. */
export function settledStatus({ mode, size, ino, mtimeMs, ctimeMs }: Stats, at: number): FileStatus | null {
  const isCoarse = ctimeMs % 1_000 === 0 || mtimeMs % 1_000 === 0;
  return ctimeMs < at - (isCoarse ? coarseDelayMs : clockDelayMs) ? { mode, size, ino, mtimeMs, ctimeMs } : null;
}
