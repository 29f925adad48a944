// orchestrate: several agents on one objective, each in a role and a place of its own.
import { randomBytes } from "node:crypto";
import { orchestrateInput, orchestrateOutput } from "../../../protocol/schema/mcp-team.ts";
import { defaultMember, groupByStrategy } from "../../../protocol/team/plan.ts";
import { defaultTeamLimits, type PhasePlan, type TeamRequest } from "../../../protocol/team/team.ts";
import { takeTurn } from "../../turn/take-turn.ts";
import { checkRoles, teamErrorAnswer, catchTeamErrors, findTeam } from "./team-errors.ts";
import { tool } from "../tool.ts";

export const orchestrate = tool({
  name: "orchestrate",
  description:
    "Have a team of agents work on an objective, each in a role and a git worktree of its own. If status is running, call wait_session or session_status. Call it again with the same session_id and objective to go on after an interruption.",
  input: orchestrateInput,
  output: orchestrateOutput,
  async run(input, place) {
    const sessionId = input.session_id ?? `team-${randomBytes(4).toString("hex")}`;
    const wish = wishOf(input);
    const known = await findTeam(place, sessionId);
    if (known !== null && known.team.wish.objective !== wish.objective)
      return teamErrorAnswer("SPAWN_FAILED", `session "${sessionId}" has a team with another objective; use another session_id`, {
        objective: known.team.wish.objective,
      });
    const refused =
      known === null ? await checkRoles(place, input.agents ?? [], { limits: wish.limits, members: [], isDescribed: false }) : null;
    if (refused !== null) return refused;
    const team = known === null ? { work: "run" as const, wish } : { work: "resume" as const };
    return catchTeamErrors(() =>
      takeTurn({ sessionId, prompt: input.objective, agent: "native", model: null, turn: { team, steerable: false } }, place),
    );
  },
});

type Input = ReturnType<typeof orchestrateInput.parse>;

function wishOf({ objective, agents, strategy, max_agents_per_role }: Input): TeamRequest {
  const limits = { ...defaultTeamLimits, maxPerRole: max_agents_per_role ?? defaultTeamLimits.maxPerRole };
  const how = strategy ?? (agents === undefined ? "adaptive" : "parallel");
  const common = { objective, workspace: "worktree" as const, limits, planner: { agent: null, model: null } };
  if (agents === undefined || how === "adaptive") {
    const asked = (agents ?? []).map(({ role, task }) => `- ${role}: ${task}`);
    const cast = (agents ?? []).map(({ role, agent }) => ({ role, agent: agent ?? null }));
    const whole = asked.length === 0 ? objective : `${objective}\n\nAsked for:\n${asked.join("\n")}`;
    return { ...common, objective: whole, strategy: "adaptive", phases: null, cast };
  }
  return { ...common, strategy: how, phases: phasesOf(how, agents), cast: [] };
}

function phasesOf(strategy: "parallel" | "sequential" | "pipeline", agents: NonNullable<Input["agents"]>): PhasePlan[] {
  const numbered = agents.map((agent, at) => ({ ...agent, key: `${agent.role}-${agent.instance_suffix ?? at + 1}` }));
  const keys = numbered.map(({ key }) => key);
  return groupByStrategy(strategy, numbered).map((stage, phase) => ({
    name: strategy === "parallel" ? "all together" : `${phase + 1}: ${stage[0]?.role ?? ""}`,
    goal: "",
    members: stage.map(({ key, role, task, instance_suffix, agent }) => ({
      ...defaultMember,
      // Two with the same suffix are told apart by their place.
      key: keys.filter((other) => other === key).length > 1 ? `${key}-${keys.indexOf(key) + 1}` : key,
      role,
      task,
      agent: agent ?? null,
      suffix: instance_suffix ?? null,
    })),
  }));
}
