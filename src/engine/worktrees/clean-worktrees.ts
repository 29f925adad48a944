// Removes worktrees without unmerged work. A worktree in which a turn runs is never removed; unmerged work only by name and
// with `force`. The record is removed last, so that a killed removal is continued by the next one.
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { WorktreeCleanResult } from "../../protocol/schema/worktrees.ts";
import type { WorktreeInfo, WorktreeRecord } from "../../protocol/worktree/ports.ts";
import type { EngineDeps } from "../engine.ts";
import { describeWorktree } from "./list-worktrees.ts";
import { worktreesOf } from "./open-worktree.ts";

type CleanParams = { project: string | null; name: string | null; dryRun: boolean; force: boolean };

export async function cleanWorktrees(deps: EngineDeps, params: CleanParams): Promise<WorktreeCleanResult> {
  const { dryRun, force } = params;
  if (force && params.name === null)
    throw new Fault("usage", "unmerged work is removed only by name", { hint: "skein worktrees clean --force <name>" });
  const result: WorktreeCleanResult = { dryRun, removed: [], skipped: [], problems: [] };
  for (const record of await chosenRecords(deps, params)) {
    const { name, project, directory } = record;
    const info = await describeWorktree(deps, record);
    const reason = (await hasInnerWorktrees(deps, record)) ? "it has worktrees of its own" : reasonToKeep(info, force);
    if (reason !== null) result.skipped.push({ name, project, reason });
    else
      try {
        if (!dryRun) await removeWorktree(deps, record);
        result.removed.push({ name, project, directory, bytes: info.bytes });
      } catch (error) {
        result.problems.push(`${name}: ${messageOf(error)}`);
      }
  }
  return result;
}

async function chosenRecords(deps: EngineDeps, { project, name }: CleanParams): Promise<WorktreeRecord[]> {
  const records = deps.hasStore() ? await (await deps.store()).listWorktrees(project) : [];
  if (name === null) return records;
  const named = records.filter((record) => record.name === name);
  if (named.length === 1) return named;
  if (named.length === 0)
    throw new Fault("usage", `there is no worktree "${name}"${project === null ? "" : ` of ${project}`}`, {
      hint: "`skein worktrees` lists them",
    });
  throw new Fault("usage", `${named.length} projects have a worktree "${name}"`, { hint: "change to the project first" });
}

/** A session in a worktree may have started others in worktrees of that worktree. */
async function hasInnerWorktrees(deps: EngineDeps, { directory }: WorktreeRecord): Promise<boolean> {
  return (await (await deps.store()).listWorktrees(directory)).length > 0;
}

/** Null if nothing would be lost. */
function reasonToKeep({ state, changedFiles, problem, sessions }: WorktreeInfo, force: boolean): string | null {
  if (sessions.some(({ running }) => running)) return "a turn runs in it";
  if (force || state === "clean" || state === "merged" || state === "incomplete") return null;
  if (state === "missing") return "its directory was deleted; --force removes its record";
  if (state === "unknown") return `its work can't be read: ${problem ?? "git failed"}`;
  const work =
    changedFiles === 0 && problem !== null ? problem : `${changedFiles} ${changedFiles === 1 ? "file" : "files"} with unmerged work`;
  return `${work}; \`skein merge\` brings it in, --force with its name removes it`;
}

async function removeWorktree(deps: EngineDeps, record: WorktreeRecord): Promise<void> {
  await worktreesOf(deps).remove(record);
  await (await deps.store()).removeWorktree(record);
}
