// The daily claim of the automatic removal, and the directories of snapshots.
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { RetentionPort } from "../engine/upkeep/retention.ts";
import { directorySize } from "../kit/files/directory-size.ts";
import { readRegularFile } from "../kit/files/safe-file.ts";
import type { AppContext } from "./app-context.ts";
import { removeOldTemps } from "./executors/scratch-directory.ts";

const defaultAfterMs = 30 * 86_400_000;
const removedSuffix = ".removed";

export function createRetentionPort({ paths, config }: AppContext): RetentionPort {
  const claims = join(paths.state, "upkeep");
  const snapshots = join(paths.data, "files");
  const today = () => new Date().toISOString().slice(0, 10);
  return {
    afterMs: retentionMs(config.values),
    claimDay() {
      const day = today();
      try {
        mkdirSync(claims, { recursive: true, mode: 0o700 });
        mkdirSync(join(claims, day)); // fails if it exists
      } catch {
        return false; // Another process has the day, or the directory can't be written.
      }
      for (const name of namesIn(claims)) if (name < day) rmSync(join(claims, name), { recursive: true, force: true });
      return true;
    },
    returnDay: () => rmSync(join(claims, today()), { recursive: true, force: true }),
    oldSnapshots(olderThanMs) {
      const directories = namesIn(snapshots).filter((name) => name.endsWith(".git") || name.endsWith(removedSuffix));
      return directories.flatMap((name) => {
        const directory = join(snapshots, name);
        const project = projectOf(directory);
        if (project === null || lastChange(directory) > Date.now() - olderThanMs) return [];
        return [{ directory, project }];
      });
    },
    removeOldTemps: () => removeOldTemps(paths.data),
    sizeOf: (directory) => directorySize(directory).bytes,
    async removeSnapshots(directory, isUsed) {
      const moved = directory.endsWith(removedSuffix) ? directory : `${directory}.${crypto.randomUUID()}${removedSuffix}`;
      if (moved !== directory) renameSync(directory, moved);
      // A session that started before the move needs the snapshots. A later one has created new ones.
      if (moved !== directory && (await isUsed()) && tryRename(moved, directory)) return false;
      rmSync(moved, { recursive: true, force: true });
      return true;
    },
  };
}

export function retentionMs({ retentionMs: configured, purgeAfterMs }: AppContext["config"]["values"]): number {
  return configured ?? purgeAfterMs ?? defaultAfterMs;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** The project whose files the directory has; null if that is unknown. */
function projectOf(directory: string): string | null {
  try {
    return String(readRegularFile(join(directory, "project"), { maxBytes: 1 << 16 })).replace(/\n$/, "");
  } catch {
    return null;
  }
}

/** Every snapshot changes one of these. */
function lastChange(directory: string): number {
  const times = ["", "index", "objects", "HEAD"].map((name) => statSync(join(directory, name), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.max(...times);
}

/** False if the directory exists again. */
function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}
