// Resolves a path with its symbolic links, and accepts it only below one of some directories.
import { resolve, sep } from "node:path";
import { realPath } from "./path-status.ts";

export type ContainedPath = { path: string } | { problem: "outside" | "missing" };

/** A relative path is looked up in each of the directories. */
export function resolveContained(path: string, directories: readonly string[]): ContainedPath {
  const roots = [...directories, ...directories.flatMap((directory) => realPath(directory) ?? [])];
  const candidates = directories.map((directory) => resolve(directory, path));
  const real = candidates.map(realPath).find((candidate) => candidate !== null);
  const isInside = real === undefined ? candidates.some((candidate) => isBelow(candidate, roots)) : isBelow(real, roots);
  if (!isInside) return { problem: "outside" };
  return real === undefined ? { problem: "missing" } : { path: real };
}

function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(root + sep));
}
