// Stores the kept tree of a project in its shadow repository, so that the next process needs no git for its first snapshot.
// The file may be old: the next snapshot compares every file and directory with its status, as it does with the memory.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../../kit/files/replace-file.ts";
import type { ShadowRepository } from "../git.ts";
import type { FileStatus, KeptDirectory, WatchedPath } from "./kept-tree.ts";

/** Another version can't read the file, and git takes the first snapshot. */
const format = 2;

export type KeptContent = { root: KeptDirectory; watched: readonly WatchedPath[] };

export type KeptRules = {
  /** Arguments of `git ls-files` that leave out ignored files. A kept tree of other rules is not used. */
  excludes: readonly string[];
  innerRepositories: readonly string[];
};

type StatusRow = [mode: number, size: number, ino: number, mtimeMs: number, ctimeMs: number] | null;
type DirectoryRow = {
  status: StatusRow;
  tree: string | null;
  files: [name: string, mode: string, id: string, status: StatusRow][];
  others: [name: string, type: number][];
  directories: [name: string, directory: DirectoryRow][];
};
type KeptFileContent = {
  format: number;
  excludes: string[];
  innerRepositories: string[];
  watched: [path: string, by: WatchedPath["by"], status: string | null][];
  root: DirectoryRow;
};

/** Throws if the file can't be written. Does nothing if the repository was removed: its objects are gone too. */
export function writeKeptTree(shadow: ShadowRepository, { root, watched }: KeptContent, rules: KeptRules): void {
  if (!existsSync(join(shadow.dir, "HEAD"))) return;
  const content: KeptFileContent = {
    format,
    excludes: [...rules.excludes],
    innerRepositories: [...rules.innerRepositories],
    watched: watched.map(({ path, by, status }) => [path.toString("latin1"), by, status]),
    root: toRow(root),
  };
  replaceFile(keptTreeFile(shadow), JSON.stringify(content), { file: 0o600, directory: 0o700, isFlushed: false });
}

/** Null if there is no file, or if it is damaged, of another version or of other rules. */
export function readKeptTree(
  shadow: ShadowRepository,
  excludes: readonly string[],
): (KeptContent & { innerRepositories: string[] }) | null {
  if (!existsSync(join(shadow.dir, "HEAD"))) return null;
  try {
    const content = JSON.parse(readFileSync(keptTreeFile(shadow), "utf8")) as KeptFileContent;
    if (content.format !== format || JSON.stringify(content.excludes) !== JSON.stringify(excludes)) return null;
    const watched = content.watched.map(([path, by, status]) => ({ path: Buffer.from(path, "latin1"), by, status }));
    return { root: fromRow(content.root, null), watched, innerRepositories: content.innerRepositories };
  } catch {
    return null;
  }
}

function keptTreeFile(shadow: ShadowRepository): string {
  return join(shadow.dir, "kept-tree.json");
}

function toRow({ status, tree, files, others, directories }: KeptDirectory): DirectoryRow {
  return {
    status: toStatusRow(status),
    tree,
    files: [...files].map(([name, file]) => [name, file.mode, file.id, toStatusRow(file.status)]),
    others: [...others],
    directories: [...directories].map(([name, directory]) => [name, toRow(directory)]),
  };
}

function fromRow(row: DirectoryRow, parent: KeptDirectory | null): KeptDirectory {
  const directory: KeptDirectory = {
    parent,
    files: new Map(row.files.map(([name, mode, id, status]) => [name, { mode, id, status: fromStatusRow(status) }])),
    directories: new Map(),
    others: new Map(row.others),
    status: fromStatusRow(row.status),
    tree: row.tree,
  };
  for (const [name, child] of row.directories) directory.directories.set(name, fromRow(child, directory));
  return directory;
}

function toStatusRow(status: FileStatus | null): StatusRow {
  return status === null ? null : [status.mode, status.size, status.ino, status.mtimeMs, status.ctimeMs];
}

function fromStatusRow(row: StatusRow): FileStatus | null {
  if (row === null) return null;
  const [mode, size, ino, mtimeMs, ctimeMs] = row;
  return { mode, size, ino, mtimeMs, ctimeMs };
}
