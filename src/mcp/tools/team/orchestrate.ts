// orchestrate: has a team of agents work on one objective, each in its own role and workspace.
import { randomBytes } from "node:crypto";
import { defaultMember, groupByStrategy } from "../../../protocol/team/plan.ts";
import { defaultTeamLimits, type PhasePlan, type TeamRequest } from "../../../protocol/team/team.ts";
import { takeTurn } from "../../turn/take-turn.ts";
import { checkRoles, teamErrorAnswer, catchTeamErrors, findTeam } from "./team-errors.ts";
import { tool, type ToolInput } from "../tool.ts";

export const orchestrate = tool("orchestrate", {
  description:
    "Have a team of agents work on an objective, each with its own role and git worktree. If status is running, call wait_session or session_status. Call it again with the same session_id and objective to continue after an interruption.",
  async run(input, ctx) {
    const sessionId = input.session_id ?? `team-${randomBytes(4).toString("hex")}`;
    const wish = teamRequestOf(input);
    const existing = await findTeam(ctx, sessionId);
    if (existing !== null && existing.team.wish.objective !== wish.objective)
      return teamErrorAnswer("SPAWN_FAILED", `session "${sessionId}" has a team with another objective; use another session_id`, {
        objective: existing.team.wish.objective,
      });
    const roleError =
      existing === null ? await checkRoles(ctx, input.agents ?? [], { limits: wish.limits, members: [], isDescribed: false }) : null;
    if (roleError !== null) return roleError;
    const team = existing === null ? { work: "run" as const, wish } : { work: "resume" as const };
    const turn = { team, steerable: false };
    return catchTeamErrors(() => takeTurn({ sessionId, prompt: input.objective, agent: existing?.session.agent, turn }, ctx));
  },
});

type Input = ToolInput<"orchestrate">;

function teamRequestOf({ objective, agents, strategy, max_agents_per_role }: Input): TeamRequest {
  const limits = { ...defaultTeamLimits, maxPerRole: max_agents_per_role ?? defaultTeamLimits.maxPerRole };
  const chosenStrategy = strategy ?? (agents === undefined ? "adaptive" : "parallel");
  const common = { objective, workspace: "worktree" as const, limits, planner: { agent: null, model: null } };
  if (agents === undefined || chosenStrategy === "adaptive") {
    const requests = (agents ?? []).map(({ role, task }) => `- ${role}: ${task}`);
    const cast = (agents ?? []).map(({ role, agent }) => ({ role, agent: agent ?? null }));
    const fullObjective = requests.length === 0 ? objective : `${objective}\n\nAsked for:\n${requests.join("\n")}`;
    return { ...common, objective: fullObjective, strategy: "adaptive", phases: null, cast };
  }
  return { ...common, strategy: chosenStrategy, phases: phasesOf(chosenStrategy, agents), cast: [] };
}

function phasesOf(strategy: "parallel" | "sequential" | "pipeline", agents: NonNullable<Input["agents"]>): PhasePlan[] {
  return groupByStrategy(strategy, withKeys(agents)).map((stage, phase) => ({
    name: strategy === "parallel" ? "all together" : `${phase + 1}: ${stage[0]?.role ?? ""}`,
    goal: "",
    members: stage.map(({ key, role, task, instance_suffix, agent }) => ({
      ...defaultMember,
      key,
      role,
      task,
      agent: agent ?? null,
      suffix: instance_suffix ?? null,
    })),
  }));
}

/** The key is the role with the suffix, or with the member's number. A key that is taken gets a number behind it. */
function withKeys<Member extends { role: string; instance_suffix?: string | undefined }>(members: readonly Member[]) {
  const taken = new Set<string>();
  return members.map((member, index) => {
    const name = `${member.role}-${member.instance_suffix ?? index + 1}`;
    let key = name;
    for (let number = 2; taken.has(key); number += 1) key = `${name}-${number}`;
    taken.add(key);
    return { ...member, key };
  });
}
