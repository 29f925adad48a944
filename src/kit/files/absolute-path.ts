// Makes paths absolute, as users and models write them. Reads no file.
import { resolve } from "node:path";

/** Expands a leading `~` and resolves against `cwd`. */
export function absolutePath(path: string, from: { cwd: string; home: string }): string {
  if (path === "~") return resolve(from.home);
  if (path.startsWith("~/")) return resolve(from.home, path.slice(2));
  return resolve(from.cwd, path);
}
