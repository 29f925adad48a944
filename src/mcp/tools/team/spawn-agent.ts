// spawn_agent: one more member for a team, in a phase of its own after those that are planned.
import { randomBytes } from "node:crypto";
import { spawnAgentInput, spawnAgentOutput } from "../../../protocol/schema/mcp-team.ts";
import { resolveAddress } from "../../../protocol/team/address.ts";
import { defaultMember } from "../../../protocol/team/plan.ts";
import { membersOf, type MemberPlan, type MemberRecord } from "../../../protocol/team/team.ts";
import type { TeamView } from "../../../protocol/team/views.ts";
import { takeTurn } from "../../turn/take-turn.ts";
import { noTeamAnswer, teamErrorAnswer, checkRoles, catchTeamErrors, findTeam, type TeamError } from "./team-errors.ts";
import { tool, type ToolAnswer } from "../tool.ts";
import type { TurnOutput } from "../../turn/turn-answer.ts";

export const spawnAgent = tool({
  name: "spawn_agent",
  description:
    "Add a member to a team: it begins after the phases that are planned. A team that rests goes on for it; if status is running, call wait_session.",
  input: spawnAgentInput,
  output: spawnAgentOutput,
  async run(input, place) {
    const view = await findTeam(place, input.session_id);
    if (view === null) return noTeamAnswer(input.session_id);
    const members = membersOf(view.team);
    const isDescribed = input.template_override?.prompt_template !== undefined;
    const refused = await checkRoles(place, [input], {
      limits: view.team.wish.limits,
      members: members.map(({ plan }) => plan),
      isDescribed,
    });
    if (refused !== null) return refused;
    const needed = dependenciesOf(input.dependencies, members);
    if ("output" in needed) return needed;
    return catchTeamErrors(async (): Promise<ToolAnswer<Added>> => {
      const member = memberOf(input, needed.keys);
      const added = await place.api.team.add({ session: view.session.id, member });
      return added.when === "next" ? queued(view, member) : goOn(input.session_id, view, member);
    });

    async function goOn(sessionId: string, { team }: TeamView, { key }: MemberPlan): Promise<ToolAnswer<Added>> {
      const turn = { team: { work: "resume" as const }, steerable: false };
      const answer = await takeTurn({ sessionId, prompt: team.wish.objective, agent: "native", model: null, turn }, place);
      return { ...answer, output: { ...answer.output, agent_key: key } };
    }
  },
});

type Added = TurnOutput & { agent_key: string };
type Input = ReturnType<typeof spawnAgentInput.parse>;

function memberOf({ role, task, instance_suffix, context, agent, template_override: own = {} }: Input, dependsOn: string[]): MemberPlan {
  const { prompt_template: template, timeout_seconds: seconds, max_memory_mb: maxMemoryMb } = own;
  const parts = [
    task,
    ...(template === undefined ? [] : [`# How\n${template}`]),
    ...(context === undefined ? [] : [`# What to know\n${context}`]),
  ];
  return {
    ...defaultMember,
    key: `${role}-${instance_suffix ?? randomBytes(2).toString("hex")}`,
    role,
    description: template ?? null,
    task: parts.join("\n\n"),
    agent: agent ?? null,
    suffix: instance_suffix ?? null,
    dependsOn,
    ...(seconds === undefined ? {} : { timeoutMs: seconds * 1_000 }),
    ...(maxMemoryMb === undefined ? {} : { maxMemoryMb }),
  };
}

/** Those that have failed for good will never be done. */
function dependenciesOf(names: readonly string[], members: readonly MemberRecord[]): { keys: string[] } | ToolAnswer<TeamError> {
  const known = members.map(({ id, instance, plan: { key, role, suffix } }) => ({ id, key, role, suffix, instance }));
  const found = new Set<MemberRecord>();
  for (const name of names) {
    const ids = resolveAddress(name, known);
    if (ids.length === 0)
      return teamErrorAnswer("DEPENDENCY_NOT_MET", `no member answers to "${name}"`, {
        dependency: name,
        members: known.map(({ key }) => key),
      });
    for (const member of members) if (ids.includes(member.id)) found.add(member);
  }
  const failed = [...found].find(({ state }) => state === "failed");
  if (failed !== undefined)
    return teamErrorAnswer("DEPENDENCY_NOT_MET", `${failed.plan.key} has failed`, {
      dependency: failed.id,
      reason: failed.ended?.error ?? null,
    });
  return { keys: [...found].map(({ plan }) => plan.key) };
}

function queued({ session, team }: TeamView, { key }: MemberPlan): ToolAnswer<Added> {
  const sessionId = session.name ?? session.id;
  const open = team.phases.filter(({ isOver }) => !isOver).length;
  return {
    output: { status: "queued", session_id: sessionId, agent_key: key, next: "session_status" },
    text: `${key} begins when the ${open === 1 ? "phase that runs is" : "phases that are planned are"} over. session_status shows it.`,
  };
}
