// Asks the planner for the next one or two phases as JSON. The prompt contains the results so far. After an invalid plan the
// planner is asked once more, with the problems of the plan. After a second invalid plan, a team that has not begun works by a
// simple sequential plan. Later it is an error.
import { cutText } from "../../../kit/text/cut-text.ts";
import { messageOf, type TurnError } from "../../../protocol/api/error.ts";
import { roleModel, rolePrompt } from "../../../protocol/api/role.ts";
import { findPlanProblems, planConstraints, planPhases } from "../../../protocol/team/plan.ts";
import type { PlannedPhases } from "../../../protocol/schema/parse-plan.ts";
import { membersOf, type PhasePlan, type RoleAssignment, type TeamRecord } from "../../../protocol/team/team.ts";
import { stripFence } from "../../native/answer-schema.ts";
import { toTurnError } from "../../delegate-failure.ts";
import { memberRole, type TeamRun } from "./team-run.ts";
import { quoteBlock, section } from "./member-prompt.ts";

const maxSummaryBytes = 12_000;

export type PlannerAnswer = PlannedPhases | { error: TurnError };

/** The plan of a team whose planner has none. */
export type SimplePlan = { simplePlan: PhasePlan[]; problems: string[] };

export async function planNext(run: TeamRun): Promise<PlannerAnswer | SimplePlan> {
  const session = Bun.randomUUIDv7();
  const first = await askPlanner(run, session, planningTask(run));
  if (!("problems" in first)) return first;
  const problems = first.problems.map((problem) => `- ${problem}`).join("\n");
  const correction = `Your plan can't be used:\n${problems}\nAnswer with the whole plan again, corrected, as JSON only.`;
  const second = await askPlanner(run, session, correction);
  if (!("problems" in second)) return second;
  if (run.record.phases.length === 0) return { simplePlan: simplePlan(run.record.wish), problems: second.problems };
  return { error: { kind: "broken", message: `the planner's plan can't be used: ${second.problems.join("; ")}` } };
}

const simpleCast: RoleAssignment[] = ["architect", "engineer", "reviewer"].map((role) => ({ role, agent: null }));

/** The requested roles one after the other, or a design, the work and a review. */
function simplePlan({ cast, objective, limits }: TeamRecord["wish"]): PhasePlan[] {
  const members = cast.length > 0 ? cast : limits.maxAgents < simpleCast.length ? [{ role: "engineer", agent: null }] : simpleCast;
  return planPhases("sequential", members, objective);
}

async function askPlanner(run: TeamRun, session: string, task: string): Promise<PlannerAnswer | { problems: string[] }> {
  const { context, record } = run;
  const role = memberRole(run, { role: "planner", description: null });
  const { agent, model } = record.wish.planner;
  const asking = context.delegate({
    task,
    title: `plan: ${record.wish.objective}`,
    call: `planner ${record.phases.length + 1}`,
    session,
    // A model with its vendor is one of skein's own agent.
    agent: agent ?? (model === null ? role.agent : "native"),
    model: model ?? roleModel(role, agent),
    role: rolePrompt(role, "alone"),
    recordedRole: role.name,
    attachable: false,
    sandbox: { readonly: true },
    limits: { timeoutMs: role.timeoutMs },
    signal: run.signal,
  });
  const result = await asking.catch((error: unknown) => ({ error: toTurnError(error), status: null }));
  if (result.status === null) return { error: result.error };
  if (result.status !== "ok") return { error: result.error ?? { kind: result.status, message: `the planner ended as ${result.status}` } };
  const { parsePlannedPhases } = await import("../../../protocol/schema/parse-plan.ts");
  try {
    const plan = parsePlannedPhases(JSON.parse(stripFence(result.answer)));
    const problems = "problems" in plan ? [] : findPlanProblems(plan.phases, planConstraints(record, run.roles));
    if (!("problems" in plan)) problems.push(...workspaceProblems(plan, record));
    return problems.length === 0 ? plan : { problems };
  } catch (error) {
    return { problems: [`it is not JSON: ${messageOf(error)}`] };
  }
}

/** Only the user may let members work in the project itself. The planner may not: text of a member may have influenced it. */
function workspaceProblems({ phases }: PlannedPhases, { wish }: TeamRecord): string[] {
  if (wish.workspace === "project") return [];
  const members = phases.flatMap((phase) => phase.members).filter(({ workspace }) => workspace === "project");
  return members.map(({ key }) => `${key}: the workspace "project" needs the user's choice of --workspace project`);
}

function planningTask({ record, roles }: TeamRun): string {
  const { cast, limits, objective } = record.wish;
  const summaries = record.phases.flatMap(({ summary }) => summary ?? []);
  const memberCount = membersOf(record).length;
  const assignments = cast.map(({ role, agent }) => (agent === null ? role : `${role} by agent ${agent}`));
  const paragraphs = [
    `Plan the next work of a team on this objective:\n\n${objective}`,
    summaries.length === 0
      ? "Nothing is done yet. Look at the project first."
      : `# Work so far\n${quoteBlock("account", cutText(summaries.join("\n\n"), maxSummaryBytes, { keep: "both" }).text)}`,
    section("Your earlier plan for the next phases", record.ahead.map(({ name, goal }) => `- ${name}: ${goal}`).join("\n")),
    `# Roles\n${roles.map(({ name, description }) => `- ${name}: ${description}`).join("\n")}`,
    cast.length === 0 ? "" : `Use only: ${assignments.join(", ")}.`,
    `At most ${limits.maxAgents - memberCount} more members, ${limits.maxPerRole} of one role.`,
    answerRules(record.wish.workspace === "project"),
  ];
  return paragraphs.filter((text) => text !== "").join("\n\n");
}

const answerRules = (canUseProject: boolean): string => `# Answer
JSON only: {"done": false, "reason": "...", "phases": [{"name", "goal", "members": [{"key", "role", "task", "agent"?, "suffix"?, "must_read"?: [paths], "validation"?: [{"kind": "file", "path"} or {"kind": "command", "command"}], "depends_on"?: [keys], "workspace"?: "worktree"|${canUseProject ? '"project"|' : ""}"plain"}]}]}
One phase, or two if the second does not depend on findings of the first. Members of a phase work at the same time unless depends_on says otherwise. A task names what to do, what to read (must_read: files in the shared context or the repository) and how to check that it is done (validation). Say {"done": true, "reason": "...", "phases": []} when the objective is met.`;
