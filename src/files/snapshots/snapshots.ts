// Snapshots of projects' files, as a port for the engine. One snapshot of a project runs at a time, and all requests
// during it share the next one: a hundred sub-sessions that start together cost two snapshots.
import { messageOf } from "../../protocol/api/error.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";
import { describeEntries } from "./describe-entries.ts";
import { diffTrees, entriesBetween, patchBetween } from "./snapshot-diff.ts";
import { runGit } from "../git.ts";
import { planRestore, restoreTree } from "./restore.ts";
import { shadowRepository, type ShadowLocation } from "./shadow.ts";
import { takeSnapshot } from "./take-snapshot.ts";

export type SnapshotsOptions = ShadowLocation & {
  /** Directories that are too big for snapshots, such as the home directory. */
  tooBig: readonly string[];
  /** Absolute paths of directories that are never stored. */
  leaveOut: readonly string[];
  warn: (message: string) => void;
};

export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const running = new Map<string, Promise<unknown>>();
  const waiting = new Map<string, Promise<string | null>>();
  const warned = new Set<string>();
  const innerRepositories = new Map<string, string[]>();
  const shadow = (project: string) => shadowRepository(options, project);

  async function take(project: string): Promise<string | null> {
    if (options.tooBig.includes(project)) return null;
    try {
      const snapshot = await takeSnapshot(shadow(project), { leaveOut: options.leaveOut, signal: AbortSignal.timeout(maxSnapshotMs) });
      innerRepositories.set(project, snapshot.innerRepositories);
      return snapshot.tree;
    } catch (error) {
      if (!warned.has(project)) options.warn(`the files of ${project} are not recorded: ${messageOf(error)}`);
      warned.add(project);
      return null;
    }
  }

  return {
    take(project) {
      const next = waiting.get(project);
      if (next !== undefined) return next;
      const previous = running.get(project) ?? Promise.resolve();
      const snapshot = previous.then(() => {
        waiting.delete(project);
        return take(project);
      });
      waiting.set(project, snapshot);
      running.set(project, snapshot);
      return snapshot;
    },
    async find(project, id) {
      if (!/^[0-9a-f]{7,40}$/.test(id)) return null;
      return runGit(shadow(project), ["rev-parse", "--verify", "--quiet", `${id}^{tree}`]).then(
        (output) => output.toString().trim(),
        () => null,
      );
    },
    changes: async (project, from, to) => diffTrees(shadow(project), from, to),
    patch: async (project, from, to) => patchBetween(shadow(project), from, to),
    entries: async (project, pairs) => entriesBetween(shadow(project), pairs),
    describe: async (project, changes) => describeEntries(shadow(project), changes),
    planRestore: async (project, now, target) => planRestore(shadow(project), now, target),
    innerRepositories: async (project) => innerRepositories.get(project) ?? [],
    restore: async (project, now, to) => restoreTree(shadow(project), now, to),
  };
}

/** A turn waits at most this long for a snapshot. */
const maxSnapshotMs = 30_000;
