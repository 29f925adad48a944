// Finds the directories that files of a project were merged from, and the project that a worktree began with.
import { homeProject } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";

/** The project whose files a worktree began with, and the time; null for a directory that is no worktree. */
export async function worktreeStart(store: Store, directory: string): Promise<{ project: string; createdAt: number } | null> {
  const record = await store.worktreeAt(directory);
  return record === null ? null : { project: record.project, createdAt: record.createdAt };
}

/**
 * The directories of worktrees and of teams' members whose work may be in the project. A worktree that was never merged is
 * left out. With `session`, only the directories of its sub-sessions: its own call merged them.
 */
export type MergeSources = (project: string, session: string | null) => Promise<string[]>;

type Source = { session: string; directory: string };

export function createMergeSources(store: Store): MergeSources {
  const sources = new Map<string, Promise<Source[]>>();
  return async (project, session) => {
    const known = sources.get(project) ?? findSources(store, project);
    sources.set(project, known);
    const all = await known;
    if (all.length === 0) return [];
    const subSessions = session === null ? null : new Set((await store.subSessions(session)).map((sub) => sub.session));
    const found = all.filter((source) => subSessions === null || subSessions.has(source.session));
    return [...new Set(found.map(({ directory }) => directory))];
  };
}

async function findSources(store: Store, project: string): Promise<Source[]> {
  const lists = await Promise.all([false, true].map((archived) => store.listSessions({ project: null, subSessions: true, archived })));
  const sessions = new Map(lists.flat().map((session) => [session.id, session]));
  const sources: Source[] = [];
  for (const session of sessions.values()) {
    const parent = session.parentSession === null ? undefined : sessions.get(session.parentSession);
    const belongsToProject = homeProject(session) === project || parent?.project === project;
    if (session.project === project || !belongsToProject) continue;
    const record = await store.worktreeAt(session.project);
    if (record === null || record.mergedAt !== null) sources.push({ session: session.id, directory: session.project });
  }
  return sources;
}
