// What of a repository's own files a tool needs to write, and what it must not: a hook or a setting that it could
// write would be run by the user's next git command.
import { linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const mostModules = 512;

/** What commits write: the repository inside the project, named so that it can't be renamed away, or a worktree's. */
export function writableGitPaths(project: string): string[] {
  const inside = join(project, ".git");
  if (kindOf(inside) === "directory" && isRepository(inside)) return hasLinks(inside) ? [] : [inside];
  const own = linkedDirectory(project);
  if (own === null) return [];
  const shared = resolve(own, readLine(join(own, "commondir")) ?? ".");
  // What the project says of itself must be confirmed by the repository it names: the project may be a stranger's.
  const back = readLine(join(own, "gitdir"));
  const isConfirmed = back !== null && isSame(back, join(project, ".git")) && dirname(dirname(own)) === shared;
  return isConfirmed && !hasLinks(shared) ? [shared] : [];
}

/** In a writable directory: what git runs, is told what to run by, or finds the repository by. */
export function protectedGitPaths(directory: string): string[] {
  const named = join(directory, ".git");
  // A file that names the repository could name another; a link among what is guarded could be put elsewhere.
  const whole = kindOf(named) === "file" || (kindOf(named) === "directory" && hasLinks(named)) ? [named] : [];
  if (!isRepository(directory)) return whole;
  const worktrees = namesIn(join(directory, "worktrees")).map((name) => join(directory, "worktrees", name));
  return [...whole, ...[directory, ...modulesOf(join(directory, "modules"))].flatMap(guardedNames), ...worktrees.flatMap(guardedNames)];
}

/**
 * What does not exist can't be guarded: what git would look for is made, such that it means what its absence meant.
 * Says which files it made, for whoever takes them away when no tool runs any more.
 */
export function createGitPlaceholders(project: string): string[] {
  return writableGitPaths(project)
    .flatMap((repository) => [repository, ...modulesOf(join(repository, "modules"))])
    .flatMap((one) => {
      isMade(() => mkdirSync(join(one, "hooks")));
      const files: [string, string][] = [[join(one, "commondir"), ".\n"]];
      if (/worktreeconfig/i.test(readText(join(one, "config")) ?? "")) files.push([join(one, "config.worktree"), ""]);
      return files.filter(([path, text]) => isMade(() => makeWhole(path, text))).map(([path]) => path);
    });
}

/** With its text or not at all: git reads it at any moment, and dies of an empty one. */
function makeWhole(path: string, text: string): void {
  const temporary = `${path}.${process.pid}-${crypto.randomUUID()}`;
  writeFileSync(temporary, text, { flag: "wx" });
  try {
    linkSync(temporary, path);
  } finally {
    unlinkSync(temporary);
  }
}

function isMade(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    // It is there, or who can't write there can't write a hook either.
    return false;
  }
}

function isRepository(directory: string): boolean {
  return kindOf(join(directory, "HEAD")) === "file" && kindOf(join(directory, "objects")) === "directory";
}

function hasLinks(repository: string): boolean {
  return guardedNames(repository).some((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink());
}

function guardedNames(repository: string): string[] {
  return ["hooks", "config", "config.worktree", "commondir"].map((name) => join(repository, name));
}

/** Submodules lie at any depth below `modules`, each with a HEAD of its own. */
function modulesOf(folder: string): string[] {
  const found: string[] = [];
  const waiting = [folder];
  for (let next = waiting.pop(); next !== undefined && found.length < mostModules; next = waiting.pop()) {
    const isModule = isRepository(next);
    if (isModule) found.push(next);
    const below = isModule ? join(next, "modules") : next;
    for (const name of namesIn(below)) if (kindOf(join(below, name)) === "directory") waiting.push(join(below, name));
  }
  return found;
}

/** For a worktree: the directory that its `.git` file names. */
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

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readLine(path: string): string | null {
  return readText(path)?.slice(0, 4096).split("\n", 1)[0]!.trim() ?? null;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function isSame(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}
