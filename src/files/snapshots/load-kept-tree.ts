// Reads the files of a snapshot that git has just taken into memory, so that the next snapshots need git only for new names.
import { accessSync, closeSync, constants, openSync, readdirSync, readSync, type Stats } from "node:fs";
import { linkStatus } from "../../kit/files/path-status.ts";
import { yieldToEventLoop } from "../../kit/flow/time-slice.ts";
import { absoluteBytes, runGit, splitAtNul, type ShadowRepository } from "../git.ts";
import { transcriptDirectory } from "./shadow.ts";
import { fastPath, join, KeptTree, settledStatus, toText, typeOf, watchPath, type KeptDirectory, type WatchedPath } from "./kept-tree.ts";

/** In a bigger project it takes git less time to look at all files. */
const maxEntries = 10_000;

export type TakenSnapshot = {
  tree: string;
  /** The time before git read the first file. */
  startedAt: number;
  /** The rules of the project's own repository, as they were before git read them. */
  rules: WatchedPath;
  /** Arguments of `git ls-files` that leave out ignored files. */
  excludes: readonly string[];
  /** Whether the shadow's index is still that of the tree. */
  isCurrent: () => boolean;
};

/** Null if the project is too big, has files that can't be followed, or another process took a snapshot meanwhile. */
export async function loadKeptTree(shadow: ShadowRepository, snapshot: TakenSnapshot): Promise<KeptTree | null> {
  if (process.platform !== "linux" || indexedFiles(shadow) > maxEntries) return null;
  const lines = splitAtNul(await runGit(shadow, ["ls-tree", "-r", "-z", snapshot.tree]));
  const root = createDirectory(null);
  for (const line of lines) addFile(root, line);
  const watched = [snapshot.rules];
  for (const path of await openDirectories(shadow, snapshot.excludes)) {
    const marker = watchPath(absoluteBytes(shadow, `${path}/.git`), "existence");
    // A directory with its own `.git` is another repository, which is not stored.
    if (marker.status === null) directoryAt(root, path).isOpen = true;
    else watched.push(marker);
  }
  const isLoaded = await readStatus(shadow, { root, watched, startedAt: snapshot.startedAt });
  if (!isLoaded || !snapshot.isCurrent()) return null;
  const { excludes } = snapshot;
  return new KeptTree(shadow, { root, watched }, { excludes, findStored: (paths) => findStored(shadow, excludes, paths) });
}

/** A status that no file has stands for rules that may have changed after it was read. Then git takes the next snapshot, too. */
export function watchRules(shadow: ShadowRepository, now: number): WatchedPath {
  const path = absoluteBytes(shadow, ".git/info/exclude");
  const stat = linkStatus(path);
  const isSettled = stat === undefined || settledStatus(stat, now) !== null;
  return isSettled ? watchPath(path, "content") : { path, by: "content", status: "unsettled" };
}

/** The number of files in the shadow's index, from its header: a signature, a version and the number, of four bytes each. */
function indexedFiles({ dir }: ShadowRepository): number {
  const header = Buffer.alloc(12);
  try {
    const file = openSync(`${dir}/index`, "r");
    try {
      return readSync(file, header) < header.length ? 0 : header.readUInt32BE(8);
    } finally {
      closeSync(file);
    }
  } catch {
    return 0; // a project without files has no index
  }
}

/** `isOpen`: it has no stored file and is not ignored, so that a file in it would be stored. */
type LoadedDirectory = KeptDirectory & { isOpen?: boolean };

function createDirectory(parent: KeptDirectory | null): LoadedDirectory {
  return { parent, files: new Map(), directories: new Map(), others: new Map(), status: null, tree: null };
}

function directoryAt(root: LoadedDirectory, path: string): LoadedDirectory {
  let directory = root;
  for (const name of path === "" ? [] : path.split("/")) {
    const child = directory.directories.get(name) ?? createDirectory(directory);
    directory.directories.set(name, child);
    directory = child;
  }
  return directory;
}

/** A line is the mode, the type, the id, a tab and the path. */
function addFile(root: LoadedDirectory, line: string): void {
  const tab = line.indexOf("\t");
  const [mode = "", , id = ""] = line.slice(0, tab).split(" ");
  const path = line.slice(tab + 1);
  const slash = path.lastIndexOf("/");
  directoryAt(root, path.slice(0, Math.max(0, slash))).files.set(path.slice(slash + 1), { mode, id, status: null });
}

/** Directories without stored files that are not ignored. */
async function openDirectories(shadow: ShadowRepository, excludes: readonly string[]): Promise<string[]> {
  const others = splitAtNul(await runGit(shadow, ["ls-files", "-o", "-z", "--directory", ...excludes]));
  return others.filter((path) => path.endsWith("/")).map((path) => path.slice(0, -1));
}

/** Asks git which of these files are not ignored. */
export async function findStored(shadow: ShadowRepository, excludes: readonly string[], paths: readonly string[]): Promise<Set<string>> {
  const names = paths.map((path) => toText(Buffer.from(path, "latin1")));
  // Without an index, every file is listed that is not ignored.
  return new Set(splitAtNul(await runGit(shadow, ["ls-files", "-o", "-z", ...excludes, "--", ...names], { index: `${shadow.dir}/none` })));
}

type LoadState = { root: LoadedDirectory; watched: WatchedPath[]; startedAt: number };

/** Sets the status of each file that has not changed since git read it. False if the project can't be followed. */
async function readStatus(shadow: ShadowRepository, { root, watched, startedAt }: LoadState): Promise<boolean> {
  const pending: { directory: LoadedDirectory; path: string }[] = [{ directory: root, path: "" }];
  let entries = 0;
  let sliceStart = performance.now();
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { directory, path } = next;
    const stat = statusAt(shadow, path);
    if (!stat?.isDirectory()) continue; // the next snapshot finds out
    directory.status = settledStatus(stat, startedAt);
    const names = readdirSync(absoluteBytes(shadow, path), { encoding: "latin1" });
    if ((entries += names.length) > 2 * maxEntries) return false;
    for (const name of names) if (!readEntry(shadow, { directory, path, name }, { watched, startedAt })) return false;
    for (const [name, child] of directory.directories) pending.push({ directory: child, path: join(path, name) });
    if (performance.now() - sliceStart > 5) {
      await yieldToEventLoop();
      sliceStart = performance.now();
    }
  }
  return true;
}

type Entry = { directory: LoadedDirectory; path: string; name: string };

function readEntry(shadow: ShadowRepository, { directory, path, name }: Entry, { watched, startedAt }: Omit<LoadState, "root">): boolean {
  if (directory.directories.has(name)) return true;
  const entryPath = join(path, name);
  const stat = statusAt(shadow, entryPath);
  const file = directory.files.get(name);
  // skein creates and removes placeholders in the project's own repository, so its status is never settled. Every run adds a
  // transcript, and asking git about each of them would cost more than the snapshot.
  if (stat !== null && (entryPath === ".git" || `/${entryPath}`.endsWith(transcriptDirectory))) {
    directory.others.set(name, typeOf(stat));
    return true;
  }
  // A name that appeared after git looked must not pass for an ignored one.
  const status = stat === null ? null : settledStatus(stat, startedAt);
  if (file !== undefined) {
    file.status = status;
    return true;
  }
  if (stat === null || status === null) {
    directory.status = null;
    return true;
  }
  if (stat.isDirectory() && directory.isOpen && name !== ".git") {
    directory.directories.set(name, { ...createDirectory(directory), isOpen: true } as LoadedDirectory);
    return true;
  }
  if (name === ".gitignore") watched.push(watchPath(absoluteBytes(shadow, entryPath), "content"));
  directory.others.set(name, typeOf(stat));
  return !stat.isFile() || isReadable(absoluteBytes(shadow, entryPath));
}

function statusAt(shadow: ShadowRepository, path: string): Stats | null {
  return linkStatus(fastPath(shadow, path)) ?? null;
}

/** A file that can't be read is not stored. It would be if its mode changed. */
function isReadable(path: Buffer): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
