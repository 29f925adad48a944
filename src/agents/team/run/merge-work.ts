// Merges a team's work into the project's files. Keeps changes that were made there since; on a conflict it changes nothing.
import { joinedCommit } from "../../../protocol/team/team.ts";
import type { TurnEnd } from "../../../protocol/tree/turn.ts";
import { recordTeamEvent, type TeamRun } from "./team-run.ts";

export async function mergeWork(
  run: Pick<TeamRun, "deps" | "context" | "record" | "paths" | "repository" | "add" | "emit">,
): Promise<TurnEnd> {
  const { deps, context, record, repository } = run;
  const commit = joinedCommit(record);
  if (commit === null || record.base === null || commit === record.base) return refused("the team has no work to merge");
  await context.keepFiles();
  const plan = await deps.workspaces.planMerge(repository, record.base, commit);
  if (plan.conflicts.length > 0) {
    const message = `the work conflicts with later changes in the project: ${plan.conflicts.join(", ")}`;
    return refused(message, `its commit is ${commit} in ${repository.repository}`);
  }
  await deps.workspaces.merge(repository, plan);
  const { changes } = plan;
  await recordTeamEvent(run, { event: "work_merged", commit, changes }, `its work is in the project: ${changes.length} files`);
  const lines = changes.map(({ path, kind, added, removed }) => `${kind} ${path} +${added} -${removed}`);
  const text = lines.length === 0 ? "The project already has all of it." : lines.join("\n");
  await run.add({ author: "agent", parts: [{ kind: "text", text }] });
  return { status: "ok" };
}

function refused(message: string, hint?: string): TurnEnd {
  return { status: "refused", error: { kind: "refused", message, ...(hint === undefined ? {} : { hint }) } };
}
