// Merges a team's work into the project's files. Changes made in the project since the team started are kept.
// On a conflict no file is changed.
import { combinedCommit } from "../../../protocol/team/team.ts";
import { guardedText } from "../../../protocol/worktree/guarded-text.ts";
import type { TurnEnd } from "../../../protocol/tree/turn.ts";
import { recordTeamEvent, type TeamRun } from "./team-run.ts";

export async function mergeWork(
  run: Pick<TeamRun, "deps" | "context" | "record" | "paths" | "repository" | "add" | "emit">,
): Promise<TurnEnd> {
  const { deps, context, record, repository } = run;
  const commit = combinedCommit(record);
  if (commit === null || record.base === null || commit === record.base) return refused("the team has no work to merge");
  await context.keepFiles();
  const plan = await deps.workspaces.planMerge(repository, record.base, commit);
  if (plan.conflicts.length > 0) {
    const message = `the team's work conflicts with later changes in the project: ${plan.conflicts.join(", ")}`;
    return refused(message, `the team's work is commit ${commit} in ${repository.gitDir}`);
  }
  if (plan.guarded.length > 0)
    return refused(guardedText(plan.guarded), `merge them by hand: the team's work is commit ${commit} in ${repository.gitDir}`);
  await deps.workspaces.merge(repository, plan);
  const { changes } = plan;
  await recordTeamEvent(run, { event: "work_merged", commit, changes }, `the team's work is in the project: ${changes.length} files`);
  const lines = changes.map(({ path, kind, added, removed }) => `${kind} ${path} +${added} -${removed}`);
  const text = lines.length === 0 ? "The project already has all changes of the team." : lines.join("\n");
  await run.add({ author: "agent", parts: [{ kind: "text", text }] });
  return { status: "ok" };
}

function refused(message: string, hint?: string): TurnEnd {
  return { status: "refused", error: { kind: "refused", message, ...(hint === undefined ? {} : { hint }) } };
}
