// Removes data that nothing can reach any more: sessions that were archived long ago, with their outputs, transcripts and the
// directories of agents, and directories of teams and snapshots without a session. Unmerged work always stays.
// Every step may be killed, and two processes may run it at once: the next run removes the rest.
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { PurgeReport } from "../../protocol/api/api.ts";
import type { EngineDeps } from "../engine.ts";
import { cleanTeams } from "../teams/clean-teams.ts";

export type RetentionPort = {
  /** The age at which archived data expires. */
  afterMs: number;
  /** True once a day, for one process. */
  claimDay: () => boolean;
  /** Lets another process continue on the same day. */
  returnDay: () => void;
  /** Snapshot directories that were not used for that long, with their projects. */
  oldSnapshots: (olderThanMs: number) => { directory: string; project: string }[];
  /** Removes the temporary directories that no session has used for a week. */
  removeOldTemps: () => void;
  sizeOf: (directory: string) => number;
  /** Removes a directory of `oldSnapshots`, unless `isUsed` is true after the directory was moved away. */
  removeSnapshots: (directory: string, isUsed: () => Promise<boolean>) => Promise<boolean>;
};

type PurgeParams = {
  olderThanMs: number;
  dryRun: boolean;
  /** Whether no user asked for it. Then snapshots are pruned once a day only. */
  isAutomatic?: boolean;
};

/** Purges every expired session, then the directories that belong to none. */
export async function purgeExpired(deps: EngineDeps, { olderThanMs, dryRun, isAutomatic = false }: PurgeParams): Promise<PurgeReport> {
  const store = await deps.store();
  const { retention } = deps;
  const report = await store.purge({ session: null, archivedBefore: Date.now() - olderThanMs, dryRun });
  if (retention === undefined) return report;
  const directories: string[] = [];
  const keep = (problems: string[]): void => void report.problems.push(...problems);
  for (const project of await projectsOf(deps, report)) {
    const { teams } = await cleanTeams(deps, { session: null, project, olderThanMs, dryRun: true, force: false });
    for (const { id, directory, isPurged } of teams) {
      if (!isPurged) continue;
      if (!dryRun) keep((await cleanTeams(deps, { session: id, project, olderThanMs, dryRun, force: false })).problems);
      directories.push(directory);
    }
  }
  if (!dryRun) keep(await pruneSnapshots(deps, { olderThanMs, isDaily: isAutomatic }));
  for (const { directory, project } of retention.oldSnapshots(olderThanMs)) {
    const isUsed = () => hasSessions(deps, project);
    if (await isUsed()) continue;
    try {
      const bytes = retention.sizeOf(directory);
      if (!dryRun && !(await retention.removeSnapshots(directory, isUsed))) continue;
      directories.push(directory);
      report.bytes += bytes;
    } catch (error) {
      keep([`the snapshots in ${directory} can't be removed: ${messageOf(error)}`]);
    }
  }
  return { ...report, directories };
}

/** Removes stored files that no recorded state needs, in projects that still have sessions. Returns the problems. */
async function pruneSnapshots(deps: EngineDeps, options: { olderThanMs: number; isDaily: boolean }): Promise<string[]> {
  const { snapshots } = deps;
  if (snapshots === null) return [];
  const store = await deps.store();
  const problems: string[] = [];
  const filters = [false, true].map((archived) => ({ project: null, archived, subSessions: true }));
  const sessions = (await Promise.all(filters.map((filter) => store.listSessions(filter)))).flat();
  const undone = sessions.flatMap((session) => session.undone ?? []).flatMap(({ files }) => (files === null ? [] : [files.from, files.to]));
  for (const project of new Set(sessions.map((session) => session.project))) {
    try {
      await snapshots.prune(project, { keep: [...(await store.fileStates(project)), ...undone], ...options });
    } catch (error) {
      problems.push(`old snapshots of ${project} can't be removed: ${messageOf(error)}`);
    }
  }
  return problems;
}

/** Projects of all sessions, and of those that were purged just now. */
async function projectsOf(deps: EngineDeps, { sessions }: PurgeReport): Promise<Set<string>> {
  const store = await deps.store();
  const listed = await Promise.all([false, true].map((archived) => store.listSessions({ project: null, archived, subSessions: true })));
  return new Set([...sessions, ...listed.flat()].map(({ project }) => project));
}

async function hasSessions(deps: EngineDeps, project: string): Promise<boolean> {
  const store = await deps.store();
  const filters = [false, true].map((archived) => ({ project, archived, subSessions: true, limit: 1 }));
  return (await Promise.all(filters.map((filter) => store.listSessions(filter)))).flat().length > 0;
}

/** A removal in the background ends after this time. Another run removes the rest. */
export const maxUpkeepMs = 500;

/** Removes one session after the other until the time is over, then old temporary directories. */
export async function removeExpired(deps: EngineDeps, retention: RetentionPort): Promise<void> {
  try {
    await removeSessions(deps, retention);
  } finally {
    retention.removeOldTemps();
  }
}

async function removeSessions(deps: EngineDeps, retention: RetentionPort): Promise<void> {
  const store = await deps.store();
  const archivedBefore = Date.now() - retention.afterMs;
  const archived = await store.listSessions({ project: null, archived: true, subSessions: true });
  const expired = archived.filter(({ archivedAt }) => archivedAt !== null && archivedAt <= archivedBefore);
  const startedAt = performance.now();
  for (const { id } of expired.toReversed()) {
    if (performance.now() - startedAt > maxUpkeepMs) return retention.returnDay();
    // Another process may have purged, restored or started to use the session meanwhile.
    if ((await store.session(id)) === null || (await store.holder(id)) !== null) continue;
    await store.purge({ session: id, archivedBefore, dryRun: false }).catch(ignoreChanged);
  }
  await purgeExpired(deps, { olderThanMs: retention.afterMs, dryRun: false, isAutomatic: true });
}

const changedCodes = new Set(["session-unknown", "session-busy", "usage"]);

function ignoreChanged(error: unknown): void {
  if (!(error instanceof Fault) || !changedCodes.has(error.code)) throw error;
}
