// Merges the work of a worktree into the project's files, and brings the project's files into a worktree. A conflict changes
// no file. The start of a merge is stored, so that a killed one is completed.
import { Fault } from "../../protocol/api/error.ts";
import type { WorktreeDiff, WorktreeMerge } from "../../protocol/schema/worktrees.ts";
import { guardedText } from "../../protocol/worktree/guarded-text.ts";
import type { MergePlan, WorktreeRecord } from "../../protocol/worktree/ports.ts";
import type { EngineDeps } from "../engine.ts";
import { findWorktree, type WorktreeQuery } from "./find-worktree.ts";
import { worktreesOf } from "./open-worktree.ts";

type PlannedMerge = { record: WorktreeRecord; work: string; problem: string | null; plan: MergePlan };

/** The changes and conflicts that a merge would bring now. Changes no file of the project. */
export async function planMerge(deps: EngineDeps, record: WorktreeRecord): Promise<PlannedMerge> {
  const worktrees = worktreesOf(deps);
  await requireFiles(deps, record);
  const { commit: work, problem } = await worktrees.commit(record);
  return { record, work, problem, plan: await worktrees.planMerge(record, work) };
}

export async function diffWorktree(deps: EngineDeps, query: WorktreeQuery): Promise<WorktreeDiff> {
  const planned = await planMerge(deps, await repaired(deps, await findWorktree(deps, query)));
  return describe(deps, planned);
}

/** `expected` is the difference that the user saw. */
export async function mergeWorktree(
  deps: EngineDeps,
  { expected, guarded, ...query }: WorktreeQuery & { expected: { now: string; work: string } | null; guarded: boolean },
): Promise<WorktreeMerge> {
  const worktrees = worktreesOf(deps);
  const store = await deps.store();
  const planned = await planMerge(deps, await repaired(deps, await findWorktree(deps, query)));
  const { record, work, plan } = planned;
  const { now: _now, patch: _patch, ...result } = await describe(deps, planned);
  if (plan.conflicts.length > 0)
    throw new Fault("usage", `the project changed in the same lines as worktree ${record.name}: ${plan.conflicts.join(", ")}`, {
      hint: `nothing was merged, and both versions are kept; bring the project's version into the worktree: skein merge ${record.name} --update`,
    });
  if (expected !== null && !(await isAsExpected(deps, planned, expected)))
    throw new Fault("usage", "the files have changed since the difference was shown; nothing was merged", {
      hint: "run the command again to see the current difference",
    });
  if (!guarded && plan.guarded.length > 0)
    throw new Fault("usage", `nothing was merged: ${guardedText(plan.guarded)}`, {
      hint: `look at them and confirm: skein merge ${record.name}`,
    });
  await store.updateWorktree(record, { merging: { now: plan.now, merged: plan.merged, work } });
  await worktrees.merge(record, { ...plan, guarded: [] });
  const mergedAt = Date.now();
  await store.updateWorktree(record, { merging: null, base: work, mergedAt });
  return { ...result, mergedAt };
}

/** Commits differ in their time, so their files are compared. */
async function isAsExpected(
  deps: EngineDeps,
  { record, work, plan }: PlannedMerge,
  expected: { now: string; work: string },
): Promise<boolean> {
  const worktrees = worktreesOf(deps);
  const pairs = [
    [expected.now, plan.now],
    [expected.work, work],
  ] as const;
  const changes = await Promise.all(pairs.map(([from, to]) => worktrees.changes(record, from, to)));
  return changes.every((list) => list.length === 0);
}

/** Brings the project's files of now into the worktree, with conflict markers in the files that both changed. */
export async function updateWorktree(deps: EngineDeps, query: WorktreeQuery): Promise<WorktreeDiff> {
  const worktrees = worktreesOf(deps);
  const record = await repaired(deps, await findWorktree(deps, query));
  await requireFiles(deps, record);
  const { commit: work, problem } = await worktrees.commit(record);
  const plan = await worktrees.update(record, work);
  const updated = await (await deps.store()).updateWorktree(record, { base: plan.now });
  return describe(deps, { record: updated, work: plan.merged, problem, plan });
}

async function describe(deps: EngineDeps, { record, work, problem, plan }: PlannedMerge): Promise<WorktreeDiff> {
  const worktrees = worktreesOf(deps);
  const { name: worktree, project, directory, base } = record;
  const { now, merged, conflicts, guarded } = plan;
  const [from, to] = conflicts.length > 0 ? [base, work] : [now, merged];
  const changes = conflicts.length > 0 ? await worktrees.changes(record, from, to) : plan.changes;
  return {
    worktree,
    project,
    directory,
    base,
    work,
    now,
    conflicts,
    changes,
    guarded,
    problem,
    patch: await worktrees.patch(record, from, to),
  };
}

/** Completes the files of a killed merge. The merge itself is planned again. */
async function repaired(deps: EngineDeps, record: WorktreeRecord): Promise<WorktreeRecord> {
  if (record.merging === null) return record;
  deps.warn(`a merge of worktree ${record.name} was interrupted; skein completes it`);
  await worktreesOf(deps).repairMerge(record);
  return (await deps.store()).updateWorktree(record, { merging: null });
}

async function requireFiles(deps: EngineDeps, record: WorktreeRecord): Promise<void> {
  const condition = await worktreesOf(deps).condition(record);
  if (condition === "complete") return;
  const state = condition === "missing" ? "was deleted" : "was never completed";
  throw new Fault("usage", `the directory of worktree ${record.name} ${state}: ${record.directory}`, {
    hint: `the next turn of a session in it creates it again, with its last recorded files: skein run -w ${record.name} "task"`,
  });
}
