// The size of a directory with everything in it. Follows no links.
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

const maxEntries = 200_000;

/** `isPartial` if the directory has more than 200,000 entries. A missing directory has no bytes. */
export function directorySize(root: string): { bytes: number; isPartial: boolean } {
  const pending = [root];
  let bytes = 0;
  let entries = 0;
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (++entries > maxEntries) return { bytes, isPartial: true };
    try {
      const stat = lstatSync(path);
      bytes += stat.isDirectory() ? 0 : stat.size;
      if (stat.isDirectory()) for (const name of readdirSync(path)) pending.push(join(path, name));
    } catch {
      continue; // It was removed meanwhile, or can't be read.
    }
  }
  return { bytes, isPartial: false };
}
