// A team's work is brought into the project's files, because a person or a planner decided so. What was changed there
// since is kept; where that can't be, nothing is touched.
import { joinedCommit } from "../../../protocol/team/team.ts";
import type { TurnEnd } from "../../../protocol/tree/turn.ts";
import { recordTeamEvent, type TeamRun } from "./team-run.ts";

export async function mergeWork(
  run: Pick<TeamRun, "parts" | "context" | "record" | "paths" | "repository" | "add" | "emit">,
): Promise<TurnEnd> {
  const { parts, context, record, repository } = run;
  const work = joinedCommit(record);
  if (work === null || record.base === null || work === record.base) return problem("the team has made nothing that could be brought in");
  await context.keepFiles();
  const plan = await parts.workspaces.planMerge(repository, record.base, work);
  if (plan.conflicts.length > 0)
    return problem(
      `the work conflicts with what was changed in the project since: ${plan.conflicts.join(", ")}`,
      `its commit is ${work} in ${repository.repository}`,
    );
  await parts.workspaces.merge(repository, plan);
  const { changes } = plan;
  await recordTeamEvent(run, { event: "work_merged", commit: work, changes }, `its work is in the project: ${changes.length} files`);
  const text =
    changes.length === 0
      ? "The project has all of it already."
      : changes.map(({ path, kind, added, removed }) => `${kind} ${path} +${added} -${removed}`).join("\n");
  await run.add({ author: "agent", parts: [{ kind: "text", text }] });
  return { status: "ok" };
}

function problem(message: string, hint?: string): TurnEnd {
  return { status: "refused", error: { kind: "refused", message, ...(hint === undefined ? {} : { hint }) } };
}
