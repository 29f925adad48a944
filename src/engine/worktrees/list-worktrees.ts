// Lists worktrees with their sessions and the work in them that is not merged.
import { messageOf } from "../../protocol/api/error.ts";
import type { WorktreeInfo, WorktreeRecord } from "../../protocol/worktree/ports.ts";
import type { EngineDeps } from "../engine.ts";
import { worktreesOf } from "./open-worktree.ts";

export async function listWorktrees(deps: EngineDeps, { project }: { project: string | null }): Promise<WorktreeInfo[]> {
  if (!deps.hasStore()) return [];
  const infos: WorktreeInfo[] = [];
  // One after the other: each reads all files of its worktree.
  for (const record of await (await deps.store()).listWorktrees(project)) infos.push(await describeWorktree(deps, record));
  return infos;
}

export async function describeWorktree(deps: EngineDeps, record: WorktreeRecord): Promise<WorktreeInfo> {
  const store = await deps.store();
  const { files: _files, setup: _setup, merging: _merging, ...shown } = record;
  const sessions = await Promise.all(
    (await store.worktreeSessions(record)).map(async ({ id, name }) => ({ id, name, running: (await store.holder(id)) !== null })),
  );
  return { ...shown, sessions, ...(await workOf(deps, record)) };
}

type WorkInfo = Pick<WorktreeInfo, "state" | "changedFiles" | "bytes" | "problem">;

async function workOf(deps: EngineDeps, record: WorktreeRecord): Promise<WorkInfo> {
  const worktrees = worktreesOf(deps);
  const condition = await worktrees.condition(record);
  if (condition !== "complete") return { state: condition, changedFiles: null, bytes: null, problem: null };
  const bytes = await worktrees.sizeOf(record);
  try {
    const { commit, problem } = await worktrees.commit(record);
    const changes = await worktrees.changes(record, record.base, commit);
    const isOpen = changes.length > 0 || problem !== null || record.merging !== null;
    return { state: isOpen ? "unmerged" : record.mergedAt === null ? "clean" : "merged", changedFiles: changes.length, bytes, problem };
  } catch (error) {
    return { state: "unknown", changedFiles: null, bytes, problem: messageOf(error) };
  }
}
