// Looks up a path that may not exist.
import { lstatSync, realpathSync, statSync, type Stats } from "node:fs";
import { basename, dirname, join, sep } from "node:path";

/** Undefined if nothing is there or it can't be reached. A dangling link counts as missing. */
export function statPath(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The status of a link itself. Undefined also below a file: the `.git` of a worktree is one. */
export function linkStatus(path: string | Buffer): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The path without symbolic links; null if nothing is there or it can't be reached. */
export function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/**
 * Whether a directory is the home directory or contains it. It is then no project: a tool that may write there could change
 * programs that run at the next login.
 */
export function isTooBroad(directory: string, home: string): boolean {
  return `${realHome(home)}${sep}`.startsWith(directory === sep ? sep : `${realPath(directory) ?? directory}${sep}`);
}

const realHomes = new Map<string, string>();

/** Resolved once: no tool can replace the home directory. */
function realHome(home: string): string {
  const real = realHomes.get(home) ?? realPath(home);
  if (real !== null) realHomes.set(home, real);
  return real ?? home;
}

/** The path without symbolic links. Its end may be missing: then only the existing directories are resolved. */
export function resolveLinks(path: string): string {
  const real = realPath(path);
  if (real !== null || path === dirname(path)) return real ?? path;
  return join(resolveLinks(dirname(path)), basename(path));
}
