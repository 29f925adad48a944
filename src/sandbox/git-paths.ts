// Lists the files of a git repository that tools need to write, and those they must not write: the user's next git
// command would run a changed hook or setting.
import { closeSync, constants, linkSync, lstatSync, readdirSync, realpathSync, unlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { realPath } from "../kit/files/path-status.ts";
import { makeDirectorySafely, openDirectorySafely, openSafely, ownersFor, readRegularFile, readSafely } from "../kit/files/safe-file.ts";

/** Each has paths of its own that are protected. With more submodules, all of `modules` is protected. */
const maxModules = 100;
const maxBorrowed = 16;
const maxTextBytes = 1 << 20;

/** The paths that commits write: the repository inside the project, or the shared repository of a worktree. */
export function writableGitPaths(project: string): string[] {
  const inside = join(project, ".git");
  if (kindOf(inside) === "directory" && isRepository(inside)) return hasLinks(inside) ? [] : [inside];
  // Resolved once: a link that replaces a directory of this path later must not lead to another one.
  const named = linkedDirectory(project);
  const gitDir = named === null ? null : realPath(named);
  if (gitDir === null) return [];
  const shared = resolve(gitDir, readLine(join(gitDir, "commondir")) ?? ".");
  // The project may be untrusted, so the repository must name the project too.
  const back = readLine(join(gitDir, "gitdir"));
  const isConfirmed = back !== null && isSame(back, join(project, ".git")) && dirname(dirname(gitDir)) === shared;
  return isConfirmed && !hasLinks(shared) ? [shared] : [];
}

/** Paths in a writable directory that git runs, or that decide what git runs or where the repository is. */
export function protectedGitPaths(directory: string): string[] {
  const dotGit = join(directory, ".git");
  // A .git file could be changed to name another repository, a link could be replaced, and an empty directory could become a
  // repository. Then all of .git is protected.
  const isDirectory = kindOf(dotGit) === "directory";
  const entire = kindOf(dotGit) === "file" || (isDirectory && (hasLinks(dotGit) || !isRepository(dotGit))) ? [dotGit] : [];
  if (!isRepository(directory)) return entire;
  const worktrees = worktreeDirectories(directory);
  const modules = modulesOf(join(directory, "modules"));
  return [
    ...entire,
    ...[directory, ...(modules ?? []), ...worktrees].flatMap(protectedNames),
    ...(modules === null ? [join(directory, "modules")] : []),
  ];
}

/** The directories of a repository's linked worktrees. */
function worktreeDirectories(repository: string): string[] {
  return listNames(join(repository, "worktrees")).map((name) => join(repository, "worktrees", name));
}

/** The worktrees of a repository whose files are at none of these places: a program outside has created them. */
export function worktreesElsewhere(repository: string, places: readonly string[]): string[] {
  return worktreeDirectories(repository).filter((directory) => {
    const dotGit = readLine(join(directory, "gitdir"));
    return dotGit !== null && !places.some((place) => resolve(directory, dotGit).startsWith(`${place}/`));
  });
}

/** The settings of the repository whose working tree is a directory. */
export function gitConfigFiles(worktree: string): string[] {
  const inside = join(worktree, ".git");
  const gitDir = kindOf(inside) === "file" ? linkedDirectory(worktree) : inside;
  if (gitDir === null || !exists(gitDir)) return [];
  const shared = resolve(gitDir, readLine(join(gitDir, "commondir")) ?? ".");
  return [...new Set([join(gitDir, "config"), join(gitDir, "config.worktree"), join(shared, "config")])];
}

/** The object directories that a repository borrows from others, directly or through them. */
export function borrowedObjects(repository: string): string[] {
  const found = new Set<string>();
  const pending = [join(repository, "objects")];
  for (let next = pending.pop(); next !== undefined && found.size < maxBorrowed; next = pending.pop())
    for (const line of readAlternates(next)) {
      const path = resolve(next, line);
      if (!found.has(path)) pending.push(path);
      found.add(path);
    }
  return [...found];
}

function readAlternates(objects: string): string[] {
  try {
    const path = join(realpathSync(objects), "info", "alternates");
    const text = readSafely(path, { maxBytes: 64 << 10, owners: ownersFor(lstatSync(path)) })?.toString() ?? "";
    return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  } catch {
    // It is missing, which is usual. Or it is a link or a pipe, which git has not created.
    return [];
  }
}

/** The repositories of submodules inside a repository that are protected one by one. */
export function gitModules(repository: string): string[] {
  return isRepository(repository) ? (modulesOf(join(repository, "modules")) ?? []) : [];
}

/** The repositories that tools can write in a directory: its own or that of its worktree, and their submodules. */
export function writableRepositories(directory: string): string[] {
  return writableGitPaths(directory).flatMap((repository) => [repository, ...gitModules(repository)]);
}

/**
 * Creates the files that git would look for and that are missing, because a missing file can't be protected. Their
 * content means the same as their absence. Returns the created files, so that they can be removed after the last tool.
 */
export function createGitPlaceholders(repository: string): string[] {
  isCreated(() => makeDirectorySafely(join(repository, "hooks"), 0o755));
  const files: [string, string][] = [[join(repository, "commondir"), ".\n"]];
  if (/worktreeconfig/i.test(readText(join(repository, "config")) ?? ""))
    for (const directory of [repository, ...worktreeDirectories(repository)]) files.push([join(directory, "config.worktree"), ""]);
  return files.filter(([path, text]) => isCreated(() => createFile(path, text))).map(([path]) => path);
}

/** Creates the file with its content in one step: git may read it at any moment and fails on an empty one. */
function createFile(path: string, text: string): void {
  const directory = openDirectorySafely(dirname(path));
  const target = join(directory.path, basename(path));
  const temporary = `${target}.${process.pid}-${crypto.randomUUID()}`;
  try {
    writeFileSync(temporary, text, { flag: "wx" });
    try {
      linkSync(temporary, target);
    } finally {
      unlinkSync(temporary);
    }
  } finally {
    directory.close();
  }
}

/**
 * Creates an empty directory or file with its parents, because a missing path can't be protected. Returns the created
 * paths, parents first. Does not follow links.
 */
export function createPlaceholder(path: string, kind: "directory" | "file"): string[] {
  const missing: string[] = [];
  for (let parent = dirname(path); lstatSync(parent, { throwIfNoEntry: false }) === undefined; parent = dirname(parent))
    missing.unshift(parent);
  const isMade = isCreated(() => {
    if (kind === "directory" && lstatSync(path, { throwIfNoEntry: false }) !== undefined) throw new Error("it exists");
    makeDirectorySafely(kind === "directory" ? path : dirname(path), 0o755);
    if (kind === "file") closeSync(openSafely(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, { mode: 0o644 }));
  });
  return isMade ? [...missing, path] : [];
}

function isCreated(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    // The path exists. Or it can't be written, and then tools can't write a hook there either.
    return false;
  }
}

/** git accepts links in the place of all these names, and finds the objects of a worktree through `commondir`. */
export function isRepository(directory: string): boolean {
  return exists(join(directory, "HEAD")) && ["objects", "commondir"].some((name) => exists(join(directory, name)));
}

function hasLinks(repository: string): boolean {
  return protectedNames(repository).some((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink());
}

function protectedNames(repository: string): string[] {
  return ["hooks", "config", "config.worktree", "commondir"].map((name) => join(repository, name));
}

/** Submodules are at any depth below `modules`. Each has its own HEAD. Null if there are too many. */
function modulesOf(directory: string): string[] | null {
  const modules: string[] = [];
  const pending = [directory];
  for (let next = pending.pop(), count = 0; next !== undefined; next = pending.pop()) {
    if ((count += 1) > maxModuleDirectories) return null;
    const isModule = isRepository(next);
    if (isModule) modules.push(next);
    const parent = isModule ? join(next, "modules") : next;
    for (const name of listNames(parent)) if (kindOf(join(parent, name)) === "directory") pending.push(join(parent, name));
  }
  return modules.length > maxModules ? null : modules;
}

/** The name of a submodule is a path, so there are also directories between them. */
const maxModuleDirectories = 10 * maxModules;

/** The directory that the `.git` file of a worktree names. */
function linkedDirectory(project: string): string | null {
  const file = join(project, ".git");
  const line = kindOf(file) === "file" ? readLine(file) : null;
  return line?.startsWith("gitdir: ") ? resolve(project, line.slice("gitdir: ".length)) : null;
}

function kindOf(path: string): "file" | "directory" | null {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat?.isFile() ? "file" : stat?.isDirectory() ? "directory" : null;
  } catch {
    return null;
  }
}

/** True for a link without a target, too. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // a parent is no directory
  }
}

function listNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function readLine(path: string): string | null {
  return readText(path)?.slice(0, 4096).split("\n", 1)[0]!.trim() ?? null;
}

/** Never waits for a pipe. The text only names paths, which are checked. */
function readText(path: string): string | null {
  try {
    return readRegularFile(path, { maxBytes: maxTextBytes, isCut: true })?.toString() ?? null;
  } catch {
    return null;
  }
}

function isSame(a: string, b: string): boolean {
  const real = realPath(a);
  return real !== null && real === realPath(b);
}
