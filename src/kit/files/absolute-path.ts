// Paths as people and models write them, made absolute. Touches no disk.
import { resolve } from "node:path";

/** Expands a leading `~`, resolves against `cwd`; the result is always absolute, never ".". */
export function absolutePath(path: string, from: { cwd: string; home: string }): string {
  if (path === "~") return resolve(from.home);
  if (path.startsWith("~/")) return resolve(from.home, path.slice(2));
  return resolve(from.cwd, path);
}
