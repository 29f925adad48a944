// spawn_agent: adds a member to a team, in a new phase after the planned ones.
import { randomBytes } from "node:crypto";
import { resolveAddress } from "../../../protocol/team/address.ts";
import { defaultMember } from "../../../protocol/team/plan.ts";
import { membersOf, type MemberPlan, type MemberRecord } from "../../../protocol/team/team.ts";
import type { TeamView } from "../../../protocol/team/views.ts";
import { sessionIdentifier } from "../../../protocol/tree/turn.ts";
import { takeTurn } from "../../turn/take-turn.ts";
import { addressableMembers, noTeamAnswer, teamErrorAnswer, checkRoles, catchTeamErrors, findTeam, type TeamError } from "./team-errors.ts";
import { tool, type ToolAnswer, type ToolInput } from "../tool.ts";
import type { TurnOutput } from "../../turn/turn-answer.ts";

export const spawnAgent = tool("spawn_agent", {
  description:
    "Add a member to a team; it starts after the planned phases. An idle team is resumed for it. If status is running, call wait_session.",
  async run(input, ctx) {
    const view = await findTeam(ctx, input.session_id);
    if (view === null) return noTeamAnswer(input.session_id);
    const members = membersOf(view.team);
    const isDescribed = input.template_override?.prompt_template !== undefined;
    const roleError = await checkRoles(ctx, [input], {
      limits: view.team.wish.limits,
      members: members.map(({ plan }) => plan),
      isDescribed,
    });
    if (roleError !== null) return roleError;
    const dependencies = resolveDependencies(input.dependencies, members);
    if ("output" in dependencies) return dependencies;
    return catchTeamErrors(async (): Promise<ToolAnswer<Added>> => {
      const member = memberPlanOf(input, dependencies.keys);
      const added = await ctx.api.team.add({ session: view.session.id, member });
      return added.when === "next" ? queuedAnswer(view, member) : resumeTeam(input.session_id, view, member);
    });

    async function resumeTeam(sessionId: string, { team, session }: TeamView, { key }: MemberPlan): Promise<ToolAnswer<Added>> {
      const turn = { team: { work: "resume" as const }, steerable: false };
      const answer = await takeTurn({ sessionId, prompt: team.wish.objective, agent: session.agent, turn }, ctx);
      return { ...answer, output: { ...answer.output, agent_key: key } };
    }
  },
});

type Added = TurnOutput & { agent_key: string };
type Input = ToolInput<"spawn_agent">;

function memberPlanOf(
  { role, task, instance_suffix, context, agent, template_override: override = {} }: Input,
  dependsOn: string[],
): MemberPlan {
  const { prompt_template: template, timeout_seconds: seconds, max_memory_mb: maxMemoryMb } = override;
  const sections = [
    task,
    ...(template === undefined ? [] : [`# How\n${template}`]),
    ...(context === undefined ? [] : [`# What to know\n${context}`]),
  ];
  return {
    ...defaultMember,
    key: `${role}-${instance_suffix ?? randomBytes(2).toString("hex")}`,
    role,
    description: template ?? null,
    task: sections.join("\n\n"),
    agent: agent ?? null,
    suffix: instance_suffix ?? null,
    dependsOn,
    ...(seconds === undefined ? {} : { timeoutMs: seconds * 1_000 }),
    ...(maxMemoryMb === undefined ? {} : { maxMemoryMb }),
  };
}

/** Resolves names to keys of members. A failed member can't be a dependency, because it will never complete. */
function resolveDependencies(names: readonly string[], members: readonly MemberRecord[]): { keys: string[] } | ToolAnswer<TeamError> {
  const addressable = addressableMembers(members);
  const matches = new Set<MemberRecord>();
  for (const name of names) {
    const ids = resolveAddress(name, addressable);
    if (ids.length === 0)
      return teamErrorAnswer("DEPENDENCY_NOT_MET", `no member has the address "${name}"`, {
        dependency: name,
        members: addressable.map(({ key }) => key),
      });
    for (const member of members) if (ids.includes(member.id)) matches.add(member);
  }
  const failed = [...matches].find(({ state }) => state === "failed");
  if (failed !== undefined)
    return teamErrorAnswer("DEPENDENCY_NOT_MET", `${failed.plan.key} has failed`, {
      dependency: failed.id,
      reason: failed.ended?.error ?? null,
    });
  return { keys: [...matches].map(({ plan }) => plan.key) };
}

function queuedAnswer({ session, team }: TeamView, { key }: MemberPlan): ToolAnswer<Added> {
  const sessionId = sessionIdentifier(session);
  const openPhases = team.phases.filter(({ isOver }) => !isOver).length;
  return {
    output: { status: "queued", session_id: sessionId, agent_key: key, next: "session_status" },
    text: `${key} starts when the ${openPhases === 1 ? "running phase is" : "planned phases are"} over. session_status shows it.`,
  };
}
