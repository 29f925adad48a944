// Reads the status of a path that may not exist.
import { statSync, type Stats } from "node:fs";

/** Undefined if nothing is there or it can't be reached. A dangling link counts as missing. */
export function statPath(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
