// Where a path really leads, if that is below one of some directories. A relative one is looked for in each of them.
import { realpathSync } from "node:fs";
import { resolve, sep } from "node:path";

export type ContainedPath = { path: string } | { problem: "outside" | "missing" };

export function resolveContained(path: string, places: readonly string[]): ContainedPath {
  const roots = [...places, ...places.flatMap((place) => realOf(place) ?? [])];
  const wanted = places.map((place) => resolve(place, path));
  const real = wanted.map(realOf).find((one) => one !== null);
  const isInside = real === undefined ? wanted.some((one) => isBelow(one, roots)) : isBelow(real, roots);
  if (!isInside) return { problem: "outside" };
  return real === undefined ? { problem: "missing" } : { path: real };
}

function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(root + sep));
}

function realOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
