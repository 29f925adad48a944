// The project as it is now, as the id of a git tree in the shadow repository. Reads the project, never writes to it.
// Each snapshot works on a copy of the shadow's index and puts it in place when it is done: no locks, nothing to clean.
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
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import { bigFileBytes, bigFileMode, BigFiles } from "./big-files.ts";
import { absoluteBytes, runGit, splitAtNul, type ShadowRepository } from "../git.ts";
import { packFiles } from "./pack.ts";
import { prepareShadow } from "./shadow.ts";

export type SnapshotOptions = {
  /** Directories that are never recorded, absolute. */
  leaveOut: readonly string[];
  signal: AbortSignal;
};

export async function takeSnapshot(shadow: ShadowRepository, options: SnapshotOptions): Promise<string> {
  prepareShadow(shadow);
  const index = join(shadow.dir, "index");
  const excludes = excludesOf(shadow.project, options.leaveOut);
  const changed = await runGit(shadow, ["ls-files", "-t", "-z", "-o", "-m", "-d", ...excludes], { signal: options.signal });
  const big = new BigFiles(shadow.dir);
  const found = await sort(shadow, splitAtNul(changed), big);
  const known = isNothing(found) ? treeOf(shadow.dir, index) : null;
  if (known !== null) return known;

  const work = join(shadow.dir, `index.${process.pid}.${++count}`);
  try {
    sweep(shadow.dir);
    if (existsSync(index)) {
      copyIndex(index, work);
      await leaveIgnored(shadow, work, excludes, found, options.signal);
    }
    await update(shadow, work, found, options.signal);
    const tree = (await runGit(shadow, ["write-tree"], { index: work, signal: options.signal })).toString().trim();
    if (existsSync(work)) renameSync(work, index);
    big.save();
    writeFileSync(join(shadow.dir, "tree"), `${stampOf(index)} ${tree}`);
    return tree;
  } finally {
    rmSync(work, { force: true });
    rmSync(`${work}.lock`, { force: true });
  }
}

let count = 0;

/** More than this are not the files of one project. */
const mostFiles = 300_000;

type SnapshotChanges = { kept: Set<string>; removed: Set<string>; big: Map<string, string> };

/** The patterns of the project's own .gitignore files, its repository's private list, and what is ours. */
function excludesOf(project: string, leaveOut: readonly string[]): string[] {
  const ours = leaveOut
    .map((directory) => relative(project, directory))
    .filter((path) => path !== "" && !path.startsWith(".."))
    .map((path) => `--exclude=/${path.replace(/[\\*?[\]!# ]/g, "\\$&")}/`);
  const listed = join(project, ".git", "info", "exclude");
  const own = isReadable(listed) ? [`--exclude-from=${listed}`] : [];
  return ["--exclude-per-directory=.gitignore", "--exclude=**/.skein/sessions/", ...ours, ...own];
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** What to do with each path that git calls other, changed or removed; a line is a letter, a blank and the path. */
async function sort(shadow: ShadowRepository, lines: string[], big: BigFiles): Promise<SnapshotChanges> {
  if (lines.length > mostFiles) throw new Fault("internal", `${lines.length.toLocaleString("en-US")} files are too many`);
  const found: SnapshotChanges = { kept: new Set(), removed: new Set(), big: new Map() };
  const directories = new Map<string, boolean>();
  let restAt = performance.now();
  for (const line of lines) {
    const path = line.slice(2);
    // A repository inside of the project is a project of its own.
    if (path.endsWith("/")) continue;
    const isKnown = line[0] !== "?";
    const absolute = absoluteBytes(shadow, path);
    const stat = isKnown && !isDirectory(shadow, parentOf(path), directories) ? null : look(absolute);
    if (stat === null) {
      if (isKnown) found.removed.add(path);
      big.forget(path);
    } else if (stat.isFile() && stat.size > bigFileBytes) {
      if (!isKnown || !big.isUnchanged(path, stat)) found.big.set(path, await big.idOf(path, absolute, stat));
    } else {
      found.kept.add(path);
      big.forget(path);
    }
    if (performance.now() - restAt > 5) {
      await new Promise((resolve) => setImmediate(resolve));
      restAt = performance.now();
    }
  }
  return found;
}

/** Not one that a link leads to: git would follow the path of a recorded file through it. */
function isDirectory(shadow: ShadowRepository, path: string, seen: Map<string, boolean>): boolean {
  if (path === "") return true;
  const known = seen.get(path);
  if (known !== undefined) return known;
  const isOne =
    isDirectory(shadow, parentOf(path), seen) && lstatSync(absoluteBytes(shadow, path), { throwIfNoEntry: false })?.isDirectory() === true;
  seen.set(path, isOne);
  return isOne;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Null for what can't be recorded: gone, no file and no link, or not ours to read. */
function look(path: Buffer) {
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

function isNothing({ kept, removed, big }: SnapshotChanges): boolean {
  return kept.size + removed.size + big.size === 0;
}

/** What has been ignored since it was recorded is not recorded any more. */
async function leaveIgnored(
  shadow: ShadowRepository,
  index: string,
  excludes: string[],
  found: SnapshotChanges,
  signal: AbortSignal,
): Promise<void> {
  for (const path of splitAtNul(await runGit(shadow, ["ls-files", "-z", "-i", "-c", ...excludes], { index, signal }))) {
    found.kept.delete(path);
    found.big.delete(path);
    found.removed.add(path);
  }
}

async function update(shadow: ShadowRepository, index: string, found: SnapshotChanges, signal: AbortSignal): Promise<void> {
  const gone = [...found.removed].map((path) => `0 ${"0".repeat(40)}\t${path}\0`);
  const big = [...found.big].map(([path, id]) => `${bigFileMode} ${id}\t${path}\0`);
  if (gone.length + big.length > 0) {
    const stdin = Buffer.from([...gone, ...big].join(""), "latin1");
    await runGit(shadow, ["update-index", "-z", "--add", "--replace", "--index-info"], { index, stdin, signal });
  }
  if (found.kept.size === 0) return;
  if (found.kept.size > packedFrom) await packFiles(shadow, found.kept, signal);
  const stdin = Buffer.from([...found.kept].map((path) => `${path}\0`).join(""), "latin1");
  await runGit(shadow, ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], { index, stdin, signal });
}

/** From here on one pack is much faster than a file for each. */
const packedFrom = 32;

/** The tree that the index stands for, if it is the one whose tree was noted: then a look at the project was enough. */
function treeOf(dir: string, index: string): string | null {
  try {
    const noted = readFileSync(join(dir, "tree"), "latin1");
    const stamp = stampOf(index);
    const tree = noted.slice(stamp.length + 1);
    return noted.startsWith(`${stamp} `) && /^[0-9a-f]{40}$/.test(tree) ? tree : null;
  } catch {
    return null;
  }
}

function stampOf(index: string): string {
  const stat = statSync(index, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? "none" : `${stat.ino}-${stat.ctimeNs}`;
}

/**
 * Its time goes along: a file with the time of the index is read again, since it may have changed within that moment,
 * and to a copy with a later time it would look clean.
 */
export function copyIndex(from: string, to: string): void {
  const seconds = Math.floor(statSync(from).mtimeMs / 1000);
  copyFileSync(from, to);
  utimesSync(to, seconds, seconds);
}

/** What processes left that were killed, or that were at the same pack. */
function sweep(dir: string): void {
  for (const name of readdirSync(dir)) {
    if (!/^(index\.\d|restore\.\d|fast_import_crash_)/.test(name)) continue;
    const stat = statSync(join(dir, name), { throwIfNoEntry: false });
    if (stat !== undefined && Date.now() - stat.ctimeMs > 3_600_000) rmSync(join(dir, name), { force: true });
  }
}
