// Resolves a path like `realpath`, and tells which symbolic links were on the way. A check of these links and the result
// belong together: a second look at the path could find other links.
import { lstatSync, readlinkSync } from "node:fs";
import { dirname, join, sep } from "node:path";

export type FollowedPath = {
  /** The path without links. */
  path: string;
  /** Every link on the way. Its parent directories are no links. */
  links: string[];
};

/** The kernel follows as many. */
const maxLinks = 40;

/** `path` is absolute. Null if nothing is there or it can't be reached. */
export function followLinks(path: string): FollowedPath | null {
  const links: string[] = [];
  const pending = partsOf(path);
  let current: string = sep;
  try {
    for (let part = pending.shift(); part !== undefined; part = pending.shift()) {
      const next = part === ".." ? dirname(current) : join(current, part);
      if (!lstatSync(next).isSymbolicLink()) {
        current = next;
        continue;
      }
      if (links.push(next) > maxLinks) return null;
      const target = readlinkSync(next);
      pending.unshift(...partsOf(target));
      if (target.startsWith(sep)) current = sep;
    }
    return { path: current, links };
  } catch {
    return null;
  }
}

/** A link in one of the directories that leads out of it. `directories` are real paths. */
export function findLinkOutOf(directories: readonly string[], { path, links }: FollowedPath): string | undefined {
  const isBelow = (inner: string, directory: string) => `${inner}${sep}`.startsWith(directory === sep ? sep : directory + sep);
  return links.find((link) => directories.some((directory) => isBelow(link, directory) && !isBelow(path, directory)));
}

function partsOf(path: string): string[] {
  return path.split(sep).filter((part) => part !== "" && part !== ".");
}
