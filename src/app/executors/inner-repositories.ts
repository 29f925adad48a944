// Finds the git repositories inside of a project and the programs that they would make git run. The user's `git status`
// obeys the settings of every repository that the index names, and a tool can create one at any place.
import { lstatSync, readdirSync, readlinkSync, realpathSync, renameSync } from "node:fs";
import { join, resolve } from "node:path";
import { readGitlinks } from "../../files/project/git-index.ts";
import { openDirectorySafely, readSafely, type SafeDirectory } from "../../kit/files/safe-file.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { parseGitConfig, programSettings } from "../../sandbox/git-config.ts";

/** Settings and hooks that make git run a program, by name, with their values. Empty for a harmless repository. */
export type Programs = Map<string, string>;

/** Absolute paths of working trees, with one character for each byte: a path need not be UTF-8. */
export type InnerRepositories = Map<string, Programs>;

const maxConfigBytes = 1 << 20;
const maxRepositories = 2_000;
const maxHooks = 100;

/** A repository whose index may name more repositories than were found has this among its programs. */
export const uncheckedIndex = "unchecked index";

/**
 * `roots` are the working trees to start from, `listed` are paths of repositories that are known to be there. Follows
 * gitlinks to any depth. A root is itself among the results if it is a repository.
 */
export function findInnerRepositories(
  roots: string[],
  listed: string[],
  owners: readonly number[],
  max = maxRepositories,
): InnerRepositories {
  const found: InnerRepositories = new Map();
  const pending = [...roots.map(toBytes), ...listed];
  const ownGitDirs = roots.map((root) => toBytes(join(root, ".git")));
  while (pending.length > 0 && found.size < max) {
    const path = pending.pop()!;
    if (found.has(path)) continue;
    const repository = readRepository(path, { owners, ownGitDirs });
    if (repository === null) continue;
    found.set(path, repository.programs);
    for (const gitlink of repository.gitlinks) pending.push(`${path}/${gitlink}`);
  }
  // git obeys the settings of all of them.
  if (pending.length > 0)
    for (const root of roots.map(toBytes)) found.get(root)?.set(uncheckedIndex, `it names more than ${max} repositories`);
  return found;
}

/** Renames `.git` so that git no longer finds the repository. Returns the new path. */
export function moveRepositoryAside(path: string): { from: string; to: string } {
  const directory = openDirectorySafely(Buffer.from(path, "latin1"));
  try {
    const name = lstatSync(join(directory.path, ".git"), { throwIfNoEntry: false }) === undefined ? "HEAD" : ".git";
    const newName = `${name}-moved-by-skein-${crypto.randomUUID().slice(0, 8)}`;
    renameSync(join(directory.path, name), join(directory.path, newName));
    const readable = fromBytes(path);
    return { from: join(readable, name), to: join(readable, newName) };
  } finally {
    directory.close();
  }
}

/** Renames the index of a repository, so that git finds no gitlinks in it. Returns the new path. */
export function moveIndexAside(path: string, owners: readonly number[]): { from: string; to: string } {
  const worktree = openDirectorySafely(Buffer.from(path, "latin1"));
  try {
    const dotGit = lstatSync(join(worktree.path, ".git"), { throwIfNoEntry: false });
    const gitPath = dotGit === undefined ? path : dotGit.isFile() ? linkedPath(worktree, path, owners) : `${path}/.git`;
    const gitDir = openDirectorySafely(realBytes(gitPath ?? path));
    try {
      const newName = `index-moved-by-skein-${crypto.randomUUID().slice(0, 8)}`;
      renameSync(join(gitDir.path, "index"), join(gitDir.path, newName));
      const readable = fromBytes(gitPath ?? path);
      return { from: join(readable, "index"), to: join(readable, newName) };
    } finally {
      gitDir.close();
    }
  } finally {
    worktree.close();
  }
}

/** Decodes a path for display. */
export function fromBytes(path: string): string {
  return Buffer.from(path, "latin1").toString();
}

export function toBytes(path: string): string {
  return Buffer.from(path).toString("latin1");
}

type ReadOptions = {
  owners: readonly number[];
  /** Repositories whose own settings are compared elsewhere. A worktree shares them. */
  ownGitDirs: string[];
};

/** Null if there is no repository, or a link on the way to it, which git does not follow either. */
function readRepository(path: string, options: ReadOptions): { programs: Programs; gitlinks: string[] } | null {
  const worktree = tryOpen(path);
  if (worktree === null) return null;
  const programs: Programs = new Map();
  try {
    const dotGit = lstatSync(join(worktree.path, ".git"), { throwIfNoEntry: false });
    if (dotGit?.isSymbolicLink()) {
      programs.set(".git is a link", readlinkSync(join(worktree.path, ".git")));
      return { programs, gitlinks: [] };
    }
    if (dotGit === undefined && !hasNames(worktree, bareNames)) return null;
    const gitPath = dotGit === undefined ? path : dotGit.isFile() ? linkedPath(worktree, path, options.owners) : `${path}/.git`;
    const gitDir = gitPath === null ? null : openReal(gitPath);
    if (gitPath === null || gitDir === null) return null;
    try {
      if (!hasNames(gitDir, ["HEAD"])) return null;
      readPrograms(gitDir, gitPath, programs, options);
      const { paths, problem } = readGitlinks(gitDir, options.owners);
      if (problem !== null) programs.set(uncheckedIndex, problem);
      return { programs, gitlinks: paths };
    } finally {
      gitDir.close();
    }
  } catch (error) {
    programs.set("unreadable", messageOf(error));
    return { programs, gitlinks: [] };
  } finally {
    worktree.close();
  }
}

function readPrograms(gitDir: SafeDirectory, path: string, programs: Programs, { owners, ownGitDirs }: ReadOptions): void {
  const read = (from: SafeDirectory, name: string): Buffer => {
    try {
      return readSafely(name, { maxBytes: maxConfigBytes, owners, from }) ?? Buffer.alloc(0);
    } catch (error) {
      programs.set(`${name} can't be checked`, messageOf(error));
      return Buffer.alloc(0);
    }
  };
  const addSettings = (bytes: Buffer): void => {
    for (const { key, value } of programSettings(parseGitConfig(bytes.toString()))) programs.set(key, value);
  };
  for (const name of ["config", "config.worktree"]) addSettings(read(gitDir, name));
  addHooks(gitDir, programs);
  // git removes line ends only, so a blank at the end belongs to the path.
  const common = resolve(
    path,
    read(gitDir, "commondir")
      .toString("latin1")
      .replace(/[\r\n]+$/, "") || ".",
  );
  if (common === path || ownGitDirs.includes(common)) return;
  const commonDir = openReal(common);
  if (commonDir === null) return;
  addSettings(read(commonDir, "config"));
  addHooks(commonDir, programs);
  commonDir.close();
}

/** The samples that git creates are not run. */
function addHooks(gitDir: SafeDirectory, programs: Programs): void {
  const hooks = join(gitDir.path, "hooks");
  const stat = lstatSync(hooks, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isDirectory()) return void programs.set("hooks is a link", "");
  const names = readdirSync(hooks).filter((name) => !name.endsWith(".sample"));
  for (const name of names.slice(0, maxHooks)) {
    const hook = lstatSync(join(hooks, name), { bigint: true, throwIfNoEntry: false });
    programs.set(`hooks/${name}`, `${hook?.ino}-${hook?.ctimeNs}`);
  }
}

/** The directory that a `.git` file names. */
function linkedPath(worktree: SafeDirectory, path: string, owners: readonly number[]): string | null {
  const text = readSafely(".git", { maxBytes: 1 << 16, owners, from: worktree })?.toString("latin1") ?? "";
  const target = /^gitdir: (.+?)[\r\n]*$/s.exec(text)?.[1];
  return target === undefined ? null : resolve(path, target);
}

/** git takes a directory with these names for a repository without a working tree. */
const bareNames = ["HEAD", "objects", "refs"];

function hasNames(directory: SafeDirectory, names: string[]): boolean {
  return names.every((name) => lstatSync(join(directory.path, name), { throwIfNoEntry: false }) !== undefined);
}

/** Follows links, as git does with the paths that these files name. Null if nothing is there; throws if it can't be opened. */
function openReal(path: string): SafeDirectory | null {
  try {
    return openDirectorySafely(realBytes(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function realBytes(path: string): Buffer {
  return realpathSync(Buffer.from(path, "latin1"), { encoding: "buffer" });
}

function tryOpen(path: string): SafeDirectory | null {
  try {
    return openDirectorySafely(Buffer.from(path, "latin1"));
  } catch {
    return null;
  }
}
