// The states of projects' files, as the engine is given them. One snapshot of a project runs at a time, and those who
// ask while it runs share the next one: a hundred sub-sessions that start together cost two.
import { messageOf } from "../../protocol/api/error.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";
import { diffTrees, patchBetween } from "./snapshot-diff.ts";
import { runGit } from "../git.ts";
import { planRestore, restoreTree } from "./restore.ts";
import { shadowRepository, type ShadowLocation } from "./shadow.ts";
import { takeSnapshot } from "./take-snapshot.ts";

export type SnapshotsOptions = ShadowLocation & {
  /** Directories that are too much to be a project. */
  tooWide: readonly string[];
  leaveOut: readonly string[];
  warn: (message: string) => void;
};

export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const running = new Map<string, Promise<unknown>>();
  const waiting = new Map<string, Promise<string | null>>();
  const told = new Set<string>();
  const shadow = (project: string) => shadowRepository(options, project);

  async function take(project: string): Promise<string | null> {
    if (options.tooWide.includes(project)) return null;
    try {
      return await takeSnapshot(shadow(project), { leaveOut: options.leaveOut, signal: AbortSignal.timeout(longestMs) });
    } catch (error) {
      if (!told.has(project)) options.warn(`the files of ${project} are not recorded: ${messageOf(error)}`);
      told.add(project);
      return null;
    }
  }

  return {
    take(project) {
      const next = waiting.get(project);
      if (next !== undefined) return next;
      const before = running.get(project) ?? Promise.resolve();
      const taken = before.then(() => {
        waiting.delete(project);
        return take(project);
      });
      waiting.set(project, taken);
      running.set(project, taken);
      return taken;
    },
    async find(project, id) {
      if (!/^[0-9a-f]{7,40}$/.test(id)) return null;
      return runGit(shadow(project), ["rev-parse", "--verify", "--quiet", `${id}^{tree}`]).then(
        (found) => found.toString().trim(),
        () => null,
      );
    },
    changes: async (project, from, to) => diffTrees(shadow(project), from, to),
    patch: async (project, from, to) => patchBetween(shadow(project), from, to),
    planRestore: async (project, now, wanted) => planRestore(shadow(project), now, wanted),
    restore: async (project, now, to) => restoreTree(shadow(project), now, to),
  };
}

/** A turn waits no longer for a record of its files. */
const longestMs = 30_000;
