// Lists the files of a git repository that tools need to write, and those they must not write: the user's next git
// command would run a changed hook or setting.
import { closeSync, constants, linkSync, lstatSync, mkdirSync, readdirSync, realpathSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { realPath } from "../kit/files/path-status.ts";
import { makeDirectorySafely, openSafely, ownersFor, readRegularFile, readSafely } from "../kit/files/safe-file.ts";

const maxModules = 512;
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
  // A .git file could be changed to name another repository, and a link could be replaced. Then all of .git is protected.
  const entire = kindOf(dotGit) === "file" || (kindOf(dotGit) === "directory" && hasLinks(dotGit)) ? [dotGit] : [];
  if (!isRepository(directory)) return entire;
  const worktrees = listNames(join(directory, "worktrees")).map((name) => join(directory, "worktrees", name));
  return [
    ...entire,
    ...[directory, ...modulesOf(join(directory, "modules"))].flatMap(protectedNames),
    ...worktrees.flatMap(protectedNames),
  ];
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

/** The repositories of submodules inside a repository. */
export function gitModules(repository: string): string[] {
  return isRepository(repository) ? modulesOf(join(repository, "modules")) : [];
}

/** The repositories that tools can write in a directory: its own or that of its worktree, and their submodules. */
export function writableRepositories(directory: string): string[] {
  return writableGitPaths(directory).flatMap((repository) => [repository, ...modulesOf(join(repository, "modules"))]);
}

/**
 * Creates the files that git would look for and that are missing, because a missing file can't be protected. Their
 * content means the same as their absence. Returns the created files, so that they can be removed after the last tool.
 */
export function createGitPlaceholders(repository: string): string[] {
  isCreated(() => mkdirSync(join(repository, "hooks")));
  const files: [string, string][] = [[join(repository, "commondir"), ".\n"]];
  if (/worktreeconfig/i.test(readText(join(repository, "config")) ?? "")) files.push([join(repository, "config.worktree"), ""]);
  return files.filter(([path, text]) => isCreated(() => createFile(path, text))).map(([path]) => path);
}

/** Creates the file with its content in one step: git may read it at any moment and fails on an empty one. */
function createFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}-${crypto.randomUUID()}`;
  writeFileSync(temporary, text, { flag: "wx" });
  try {
    linkSync(temporary, path);
  } finally {
    unlinkSync(temporary);
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

export function isRepository(directory: string): boolean {
  return kindOf(join(directory, "HEAD")) === "file" && kindOf(join(directory, "objects")) === "directory";
}

function hasLinks(repository: string): boolean {
  return protectedNames(repository).some((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink());
}

function protectedNames(repository: string): string[] {
  return ["hooks", "config", "config.worktree", "commondir"].map((name) => join(repository, name));
}

/** Submodules are at any depth below `modules`. Each has its own HEAD. */
function modulesOf(directory: string): string[] {
  const modules: string[] = [];
  const pending = [directory];
  for (let next = pending.pop(); next !== undefined && modules.length < maxModules; next = pending.pop()) {
    const isModule = isRepository(next);
    if (isModule) modules.push(next);
    const parent = isModule ? join(next, "modules") : next;
    for (const name of listNames(parent)) if (kindOf(join(parent, name)) === "directory") pending.push(join(parent, name));
  }
  return modules;
}

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
