// A file with a list of paths. A path may contain every character but NUL, so NUL ends each.
import { readFileSync } from "node:fs";

/** Empty if there is no such file or it can't be read. */
export function readPathList(file: string): string[] {
  try {
    // A full disk may have cut the last path.
    return readFileSync(file, "utf8").split("\0").slice(0, -1);
  } catch {
    return [];
  }
}

export function pathListText(paths: readonly string[]): string {
  return paths.map((path) => `${path}\0`).join("");
}
