// Plans of a team: makes phases by a strategy, and finds the problems of a plan. Pure.
// `schema/parse-plan.ts` parses plans from JSON.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { membersOf } from "./team.ts";
import type { RoleAssignment, MemberPlan, PhasePlan, Strategy, TeamLimits, TeamRecord } from "./team.ts";

/** Groups members that work at the same time. `parallel`: all; `sequential`: one by one; `pipeline`: neighbours of one role. */
export function groupByStrategy<Cast extends { role: string }>(strategy: Exclude<Strategy, "adaptive">, cast: readonly Cast[]): Cast[][] {
  if (strategy === "parallel") return [[...cast]];
  const stages: Cast[][] = [];
  for (const member of cast) {
    const last = stages.at(-1);
    if (strategy === "pipeline" && last?.[0]?.role === member.role) last.push(member);
    else stages.push([member]);
  }
  return stages;
}

export function planPhases(strategy: Exclude<Strategy, "adaptive">, cast: readonly RoleAssignment[], objective: string): PhasePlan[] {
  let memberNumber = 0;
  return groupByStrategy(strategy, cast).map((stage, index) => ({
    name: strategy === "parallel" ? "all together" : `${index + 1}: ${stage[0]?.role ?? ""}`,
    goal: objective,
    members: stage.map((member) => planMember(member, objective, (memberNumber += 1), cast)),
  }));
}

/** The optional fields of a member. */
export const defaultMember = {
  description: null,
  agent: null,
  model: null,
  suffix: null,
  mustRead: [],
  validation: [],
  dependsOn: [],
  workspace: null,
};

function planMember({ role, agent }: RoleAssignment, objective: string, memberNumber: number, cast: readonly RoleAssignment[]): MemberPlan {
  const sameRole = cast.filter((other) => other.role === role).length;
  const others = sameRole > 1 ? ` ${sameRole} of you have this role: agree by messages on who does what.` : "";
  const task = `Do the part of the ${role.replaceAll("_", " ")} in this objective:\n\n${objective}\n${others}`.trim();
  return { ...defaultMember, key: `${role}-${memberNumber}`, role, agent, task };
}

const rolePattern = /^[a-z][a-z0-9_-]{0,39}$/;
/** Excludes the addresses `all`, `person` and `skein`. */
const keyPattern = /^(?!(all|person|skein)$)[a-z0-9][\w.-]{0,79}$/i;
const suffixPattern = /^[a-z0-9][a-z0-9_-]{0,39}$/;

/** The known roles, the limits of the team, and the plans of the members that it has now. */
export type PlanConstraints = {
  roles: readonly { name: string }[];
  limits: TeamLimits;
  members: readonly Pick<MemberPlan, "key" | "role">[];
};

export function planConstraints(team: TeamRecord, roles: PlanConstraints["roles"]): PlanConstraints {
  return { roles, limits: team.wish.limits, members: membersOf(team).map(({ plan }) => plan) };
}

/** Problems that prevent these phases, one line each. */
export function findPlanProblems(phases: readonly PhasePlan[], { roles, limits, members }: PlanConstraints): string[] {
  const roleNames = roles.map(({ name }) => name);
  const planned = phases.flatMap((phase) => phase.members);
  const everyone = [...members, ...planned];
  const problems: string[] = [];
  if (everyone.length > limits.maxAgents) problems.push(`${everyone.length} agents; the limit is ${limits.maxAgents}`);
  for (const role of new Set(planned.map((member) => member.role))) {
    const count = everyone.filter((member) => member.role === role).length;
    if (count > limits.maxPerRole) problems.push(`${count} of role ${role}; the limit per role is ${limits.maxPerRole}`);
  }
  for (const { key, role, description, suffix } of planned) {
    if (!keyPattern.test(key))
      problems.push(`"${key.slice(0, 80)}" is not a valid key: use letters, digits, ".", "_" and "-", but not all, person or skein`);
    if (!rolePattern.test(role)) problems.push(`${key}: "${role}" is not a valid role name`);
    else if (!roleNames.includes(role) && description === null)
      problems.push(`${key}: role "${role}" is unknown and has no description${suggestionText(role, roleNames)}`);
    if (suffix !== null && !suffixPattern.test(suffix)) problems.push(`${key}: "${suffix}" is not a valid suffix`);
    if (everyone.filter((other) => other.key === key).length > 1) problems.push(`two members have the key "${key}"`);
  }
  return [...new Set([...problems, ...dependencyProblems(phases, members)])];
}

function suggestionText(role: string, roleNames: readonly string[]): string {
  const nearest = nearestWord(role, roleNames);
  return nearest === null ? ` (known roles: ${roleNames.join(", ")})` : `; did you mean ${nearest}?`;
}

/** A dependency must be in an earlier phase, or in the same phase without a cycle. */
function dependencyProblems(phases: readonly PhasePlan[], existing: PlanConstraints["members"]): string[] {
  const earlier = new Set(existing.map(({ key }) => key));
  const problems: string[] = [];
  for (const { members } of phases) {
    const waiting = new Map(members.map(({ key, dependsOn }) => [key, dependsOn.filter((other) => !earlier.has(other))]));
    for (const [key, others] of waiting)
      for (const other of others.filter((name) => !waiting.has(name)))
        problems.push(`${key} depends on "${other}", which is no member of this or an earlier phase`);
    for (let hasProgress = true; hasProgress;) {
      const free = [...waiting].filter(([, others]) => others.every((other) => !waiting.has(other)));
      hasProgress = free.length > 0;
      for (const [key] of free) waiting.delete(key);
    }
    if (waiting.size > 0) problems.push(`the dependencies form a cycle: ${[...waiting.keys()].join(", ")}`);
    for (const { key } of members) earlier.add(key);
  }
  return problems;
}
