// Looks up a path that may not exist.
import { realpathSync, statSync, type Stats } from "node:fs";

/** Undefined if nothing is there or it can't be reached. A dangling link counts as missing. */
export function statPath(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
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
