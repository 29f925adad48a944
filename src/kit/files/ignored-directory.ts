// Creates a directory with a .gitignore. Its parent must exist, and none of them may be a link.
import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { createSafely, makeDirectorySafely } from "./safe-file.ts";

/** An existing .gitignore stays. Throws if the parent is missing, or if the directory is a link or a file. */
export function makeIgnoredDirectory(directory: string, gitignore: string): void {
  lstatSync(dirname(directory));
  makeDirectorySafely(directory, 0o755);
  createSafely(join(directory, ".gitignore"), gitignore, 0o644);
}
