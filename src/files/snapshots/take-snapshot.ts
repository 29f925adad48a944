// Stores the current files of a project as a git tree in the shadow repository. Never writes to the project.
// Each snapshot works on a copy of the shadow's index and renames it at the end, so it needs no lock.
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  type Stats,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { yieldToEventLoop } from "../../kit/flow/time-slice.ts";
import { Fault } from "../../protocol/api/error.ts";
import { bigFileBytes, bigFileMode, BigFiles } from "./big-files.ts";
import { absoluteBytes, excludeFile, runGit, splitAtNul, tryGit, type ShadowRepository } from "../git.ts";
import { watchRules, type TakenSnapshot } from "./load-kept-tree.ts";
import { prepareShadow, transcriptDirectory } from "./shadow.ts";

export type SnapshotOptions = {
  /** Absolute paths of directories that are never stored. */
  leaveOut: readonly string[];
  /** Whether other files than before may be ignored now. */
  areRulesChanged?: boolean;
  signal: AbortSignal;
};

export type Snapshot = TakenSnapshot & {
  /** Untracked repositories that are not part of the tree. */
  innerRepositories: string[];
};

export async function takeSnapshot(shadow: ShadowRepository, options: SnapshotOptions): Promise<Snapshot> {
  prepareShadow(shadow);
  const index = join(shadow.dir, "index");
  const excludes = excludesOf(shadow.project, options.leaveOut);
  const startedAt = Date.now();
  const rules = watchRules(shadow, startedAt);
  const changed = await runGit(shadow, ["ls-files", "-t", "-z", "-o", "-m", "-d", ...excludes], { signal: options.signal });
  const big = new BigFiles(shadow.dir);
  const lines = splitAtNul(changed);
  const changes = await classify(shadow, lines, big, options.signal);
  const innerRepositories = lines.filter((line) => line.endsWith("/")).map((line) => line.slice(2, -1));
  const lastTree = isEmpty(changes) && !options.areRulesChanged ? savedTree(shadow.dir, index) : null;
  const snapshotOf = (tree: string): Snapshot => {
    return { tree, innerRepositories, startedAt, rules, excludes, isCurrent: () => savedTree(shadow.dir, index) === tree };
  };
  if (lastTree !== null) return snapshotOf(lastTree);

  const work = join(shadow.dir, `index.${process.pid}.${++count}`);
  try {
    removeLeftovers(shadow.dir);
    if (existsSync(index)) {
      copyIndex(index, work);
      await dropIgnored(shadow, changes, excludes, { index: work, signal: options.signal });
    }
    await updateIndex(shadow, changes, { index: work, signal: options.signal });
    const tree = (await runGit(shadow, ["write-tree"], { index: work, signal: options.signal })).toString().trim();
    if (existsSync(work)) renameSync(work, index);
    big.save();
    writeFileSync(join(shadow.dir, "tree"), `${stampOf(index)} ${tree}`);
    return snapshotOf(tree);
  } finally {
    rmSync(work, { force: true });
    rmSync(`${work}.lock`, { force: true });
  }
}

let count = 0;

/** A directory with more files is not one project. */
const maxFiles = 300_000;

type SnapshotChanges = { files: Set<string>; removed: Set<string>; big: Map<string, string> };

/** The project's .gitignore files, the exclude file of its repository, and skein's own directories. */
export function excludesOf(project: string, leaveOut: readonly string[]): string[] {
  const leftOut = leaveOut
    .map((path) => relative(project, path))
    .filter((path) => path !== "" && !path.startsWith(".."))
    .map((path) => `--exclude=/${path.replace(/[\\*?[\]!# ]/g, "\\$&")}`);
  const file = excludeFile(project);
  const fromFile = file === null ? [] : [`--exclude-from=${file}`];
  return [
    "--exclude-per-directory=.gitignore",
    `--exclude=**${transcriptDirectory}/`,
    "--exclude=.git-moved-by-skein-*",
    ...leftOut,
    ...fromFile,
  ];
}

/** Classifies the paths that git lists as other, changed or removed. A line is a letter, a blank and the path. */
async function classify(shadow: ShadowRepository, lines: string[], big: BigFiles, signal: AbortSignal): Promise<SnapshotChanges> {
  if (lines.length > maxFiles) throw new Fault("internal", `${lines.length.toLocaleString("en-US")} files are too many`);
  const changes: SnapshotChanges = { files: new Set(), removed: new Set(), big: new Map() };
  const bigFiles = new Map<string, Stats>();
  const directories = new Map<string, boolean>();
  let sliceStart = performance.now();
  for (const line of lines) {
    const path = line.slice(2);
    // A repository inside of the project is another project.
    if (path.endsWith("/")) continue;
    const isTracked = line[0] !== "?";
    const absolute = absoluteBytes(shadow, path);
    const stat = isTracked && !isDirectory(shadow, parentOf(path), directories) ? null : statFile(absolute);
    if (stat === null) {
      if (isTracked) changes.removed.add(path);
      big.forget(path);
    } else if (stat.isFile() && stat.size > bigFileBytes) {
      if (!isTracked || !big.isUnchanged(path, stat)) bigFiles.set(path, stat);
    } else {
      changes.files.add(path);
      big.forget(path);
    }
    if (performance.now() - sliceStart > 5) {
      await yieldToEventLoop();
      sliceStart = performance.now();
    }
  }
  changes.big = await big.idsOf(shadow, bigFiles, signal);
  return changes;
}

/** False for a link to a directory: git would follow the path of a stored file through it. */
function isDirectory(shadow: ShadowRepository, path: string, cache: Map<string, boolean>): boolean {
  if (path === "") return true;
  const cached = cache.get(path);
  if (cached !== undefined) return cached;
  const result = isDirectory(shadow, parentOf(path), cache) && isReachableDirectory(absoluteBytes(shadow, path));
  cache.set(path, result);
  return result;
}

/** False also below a directory that the user may not open. */
function isReachableDirectory(path: Buffer): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Null for a path that can't be stored: missing, neither file nor link, or not readable. */
function statFile(path: Buffer) {
  try {
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) return stat;
    if (!stat.isFile()) return null;
    accessSync(path, constants.R_OK);
    return stat;
  } catch {
    return null;
  }
}

function isEmpty({ files, removed, big }: SnapshotChanges): boolean {
  return files.size + removed.size + big.size === 0;
}

type IndexOptions = { index: string; signal: AbortSignal };

/** Removes files that are in the index and have become ignored since. */
async function dropIgnored(shadow: ShadowRepository, changes: SnapshotChanges, excludes: string[], options: IndexOptions): Promise<void> {
  for (const path of splitAtNul(await runGit(shadow, ["ls-files", "-z", "-i", "-c", ...excludes], options))) {
    changes.files.delete(path);
    changes.big.delete(path);
    changes.removed.add(path);
  }
}

async function updateIndex(shadow: ShadowRepository, changes: SnapshotChanges, options: IndexOptions): Promise<void> {
  const removed = [...changes.removed].map((path) => `0 ${"0".repeat(40)}\t${path}\0`);
  const big = [...changes.big].map(([path, id]) => `${bigFileMode} ${id}\t${path}\0`);
  if (removed.length + big.length > 0) {
    const stdin = Buffer.from([...removed, ...big].join(""), "latin1");
    await runGit(shadow, ["update-index", "-z", "--add", "--replace", "--index-info"], { ...options, stdin });
  }
  if (changes.files.size === 0) return;
  const stdin = Buffer.from([...changes.files].map((path) => `${path}\0`).join(""), "latin1");
  // Fails if another process writes the same pack at the same time. Then update-index stores each file.
  if (changes.files.size > minPackFiles)
    await tryGit(shadow, ["fast-import", "--quiet"], { stdin, source: "pack", signal: options.signal });
  await runGit(shadow, ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], { ...options, stdin });
}

/** Above this number one pack is much faster than one object file each. */
const minPackFiles = 32;

/** The tree of the last snapshot, if the index has not changed since. It is then still current. */
function savedTree(dir: string, index: string): string | null {
  try {
    const saved = readFileSync(join(dir, "tree"), "latin1");
    const stamp = stampOf(index);
    const tree = saved.slice(stamp.length + 1);
    return saved.startsWith(`${stamp} `) && /^[0-9a-f]{40}$/.test(tree) ? tree : null;
  } catch {
    return null;
  }
}

function stampOf(index: string): string {
  const stat = statSync(index, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? "none" : `${stat.ino}-${stat.ctimeNs}`;
}

/**
 * Copies the modification time too. git reads a file again if its time equals that of the index, because it may have
 * changed within that second. With a later time of the index such a file would look unchanged.
 */
export function copyIndex(from: string, to: string): void {
  const seconds = Math.floor(statSync(from).mtimeMs / 1000);
  copyFileSync(from, to);
  utimesSync(to, seconds, seconds);
}

/** Removes files of processes that were killed or that wrote the same pack at the same time. */
function removeLeftovers(dir: string): void {
  for (const name of readdirSync(dir)) {
    if (!/^(index\.\d|restore\.\d|fast_import_crash_)/.test(name)) continue;
    const stat = statSync(join(dir, name), { throwIfNoEntry: false });
    if (stat !== undefined && Date.now() - stat.ctimeMs > 3_600_000) rmSync(join(dir, name), { force: true });
  }
}
