// Plans of a team: makes phases by a strategy, parses plans from JSON, and finds their problems. Pure.
// Nothing is guessed: a problem names its path in the JSON.
import { isRecord, type Json } from "../../kit/text/json.ts";
import { workspaceKinds } from "./team.ts";
import type { RoleAssignment, MemberPlan, PhasePlan, Strategy, ValidationCheck, TeamLimits, WorkspaceKind } from "./team.ts";

/** A planner's answer: the next phases in order, or that the work is done. */
export type PlannedPhases = { phases: PhasePlan[]; isDone: boolean; reason: string };

/** Groups members that work at the same time. `parallel`: all; `sequential`: one by one; `pipeline`: neighbours of one role. */
export function groupByStrategy<Who extends { role: string }>(strategy: Exclude<Strategy, "adaptive">, cast: readonly Who[]): Who[][] {
  if (strategy === "parallel") return [[...cast]];
  const stages: Who[][] = [];
  for (const member of cast) {
    const last = stages.at(-1);
    if (strategy === "pipeline" && last?.[0]?.role === member.role) last.push(member);
    else stages.push([member]);
  }
  return stages;
}

export function planPhases(strategy: Exclude<Strategy, "adaptive">, cast: readonly RoleAssignment[], objective: string): PhasePlan[] {
  let count = 0;
  return groupByStrategy(strategy, cast).map((stage, at) => ({
    name: strategy === "parallel" ? "all together" : `${at + 1}: ${stage[0]?.role ?? ""}`,
    goal: objective,
    members: stage.map((member) => memberOf(member, objective, (count += 1), cast)),
  }));
}

/** A member without special wishes. */
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

function memberOf({ role, agent }: RoleAssignment, objective: string, count: number, cast: readonly RoleAssignment[]): MemberPlan {
  const sameRole = cast.filter((other) => other.role === role).length;
  const others = sameRole > 1 ? ` ${sameRole} of you have this role: agree by messages on who does what.` : "";
  const task = `Do the part of the ${role.replaceAll("_", " ")} in this objective:\n\n${objective}\n${others}`.trim();
  return { ...defaultMember, key: `${role}-${count}`, role, agent, task };
}

const roleNames = /^[a-z][a-z0-9_-]{0,39}$/;
/** Excludes addresses with another meaning. */
const keys = /^(?!(all|person|skein)$)[a-z0-9][\w.-]{0,79}$/i;
const suffixes = /^[a-z0-9][a-z0-9_-]{0,39}$/;

export type PlanConstraints = {
  /** Names of the known roles. */
  roles: readonly string[];
  limits: TeamLimits;
  /** Members that the team has now. */
  members: readonly { key: string; role: string }[];
};

/** Problems that prevent these phases, one line each. */
export function findPlanProblems(phases: readonly PhasePlan[], { roles, limits, members }: PlanConstraints): string[] {
  const planned = phases.flatMap((phase) => phase.members);
  const all = [...members, ...planned];
  const problems: string[] = [];
  if (all.length > limits.maxAgents) problems.push(`${all.length} agents; the limit is ${limits.maxAgents}`);
  for (const role of new Set(planned.map((member) => member.role))) {
    const count = all.filter((member) => member.role === role).length;
    if (count > limits.maxPerRole) problems.push(`${count} of role ${role}; the limit per role is ${limits.maxPerRole}`);
  }
  for (const { key, role, description, suffix } of planned) {
    if (!keys.test(key))
      problems.push(`"${key.slice(0, 80)}" is no key of a member: letters, digits, ".", "_" and "-", and none of all, person, skein`);
    if (!roleNames.test(role)) problems.push(`${key}: "${role}" is no name of a role`);
    else if (!roles.includes(role) && description === null)
      problems.push(`${key}: no role "${role}"; one of its own needs a description (the roles are ${roles.join(", ")})`);
    if (suffix !== null && !suffixes.test(suffix)) problems.push(`${key}: "${suffix}" is no suffix`);
    if (all.filter((other) => other.key === key).length > 1) problems.push(`two members are called "${key}"`);
  }
  return [...new Set([...problems, ...dependencyProblems(phases, members)])];
}

/** A dependency must be in an earlier phase, or in the same phase without a cycle. */
function dependencyProblems(phases: readonly PhasePlan[], before: PlanConstraints["members"]): string[] {
  const done = new Set(before.map(({ key }) => key));
  const problems: string[] = [];
  for (const { members } of phases) {
    const waiting = new Map(members.map(({ key, dependsOn }) => [key, dependsOn.filter((other) => !done.has(other))]));
    for (const [key, others] of waiting)
      for (const other of others.filter((name) => !waiting.has(name))) problems.push(`${key} depends on "${other}", which is nobody`);
    for (let isMoving = true; isMoving;) {
      const free = [...waiting].filter(([, others]) => others.every((other) => !waiting.has(other)));
      isMoving = free.length > 0;
      for (const [key] of free) waiting.delete(key);
    }
    if (waiting.size > 0) problems.push(`a circle of dependencies: ${[...waiting.keys()].join(", ")}`);
    for (const { key } of members) done.add(key);
  }
  return problems;
}

/** Parses a planner's answer. */
export function parsePlannedPhases(value: unknown): PlannedPhases | { problems: string[] } {
  const wrong: string[] = [];
  if (!isRecord(value)) return { problems: ["it is no JSON object"] };
  const isDone = value["done"] === true;
  const phases = listAt(value, "phases", "", wrong).map((phase, at) => phaseAt(phase, `phases[${at}]`, wrong));
  if (!isDone && phases.length === 0) wrong.push("no phase, and not done");
  if (phases.length > 2) wrong.push(`${phases.length} phases; plan at most two ahead`);
  return wrong.length > 0 ? { problems: wrong } : { phases, isDone, reason: textAt(value, "reason", "", wrong, "") };
}

/** Parses a file with `{"phases": [...]}`, with any number of phases. */
export function parsePhases(value: unknown): PhasePlan[] | { problems: string[] } {
  const wrong: string[] = [];
  const list = isRecord(value) ? listAt(value, "phases", "", wrong) : [];
  const phases = list.map((phase, at) => phaseAt(phase, `phases[${at}]`, wrong));
  if (phases.length === 0) wrong.push('no "phases"');
  return wrong.length > 0 ? { problems: wrong } : phases;
}

/** Parses a single member. */
export function parseMember(value: unknown): MemberPlan | { problems: string[] } {
  const wrong: string[] = [];
  const member = memberAt(value, "member", wrong);
  return wrong.length > 0 ? { problems: wrong } : member;
}

function phaseAt(value: unknown, at: string, wrong: string[]): PhasePlan {
  const phase = isRecord(value) ? value : {};
  const members = listAt(phase, "members", at, wrong).map((member, index) => memberAt(member, `${at}.members[${index}]`, wrong));
  if (members.length === 0) wrong.push(`${at}: no members`);
  return { name: textAt(phase, "name", at, wrong), goal: textAt(phase, "goal", at, wrong, ""), members };
}

function memberAt(value: unknown, at: string, wrong: string[]): MemberPlan {
  const member = isRecord(value) ? value : {};
  const optional = (name: string) => (member[name] === undefined || member[name] === null ? null : textAt(member, name, at, wrong));
  const role = textAt(member, "role", at, wrong);
  return {
    key: textAt(member, "key", at, wrong),
    role,
    description: optional("description"),
    agent: optional("agent"),
    model: optional("model"),
    suffix: optional("suffix"),
    task: textAt(member, "task", at, wrong),
    mustRead: wordsAt(member, "must_read", at, wrong),
    validation: listAt(member, "validation", at, wrong).map((check, index) => checkAt(check, `${at}.validation[${index}]`, wrong)),
    dependsOn: wordsAt(member, "depends_on", at, wrong),
    workspace: workspaceAt(member["workspace"], at, wrong),
    ...numberAt(member, "timeout_ms", at, wrong, "timeoutMs"),
    ...numberAt(member, "max_memory_mb", at, wrong, "maxMemoryMb"),
  };
}

function numberAt<Field extends string>(
  member: Json,
  name: string,
  at: string,
  wrong: string[],
  field: Field,
): { [Key in Field]?: number } {
  const value = member[name];
  if (value === undefined || value === null) return {};
  if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return { [field]: value } as { [Key in Field]?: number };
  wrong.push(`${at}.${name}: must be a whole number above 0`);
  return {};
}

function checkAt(value: unknown, at: string, wrong: string[]): ValidationCheck {
  const check = isRecord(value) ? value : {};
  if (check["kind"] === "command") return { kind: "command", command: textAt(check, "command", at, wrong) };
  if (check["kind"] !== "file") wrong.push(`${at}.kind: must be "file" or "command"`);
  return { kind: "file", path: textAt(check, "path", at, wrong) };
}

function workspaceAt(value: unknown, at: string, wrong: string[]): WorkspaceKind | null {
  const known = workspaceKinds.find((kind) => kind === value);
  if (known === undefined && value !== undefined && value !== null)
    wrong.push(`${at}.workspace: must be one of ${workspaceKinds.join(", ")}`);
  return known ?? null;
}

const mostText = 20_000;

function textAt(value: Json, name: string, at: string, wrong: string[], fallback?: string): string {
  const text = value[name];
  if (text === undefined && fallback !== undefined) return fallback;
  const place = at === "" ? name : `${at}.${name}`;
  if (typeof text !== "string" || (text.trim() === "" && fallback === undefined)) wrong.push(`${place}: must be a text`);
  else if (text.length > mostText) wrong.push(`${place}: longer than ${mostText} characters`);
  else return text;
  return "";
}

function wordsAt(value: Json, name: string, at: string, wrong: string[]): string[] {
  const list = listAt(value, name, at, wrong);
  const words = list.filter((word) => typeof word === "string");
  if (words.length < list.length) wrong.push(`${at}.${name}: must be a list of texts`);
  return words;
}

function listAt(value: Json, name: string, at: string, wrong: string[]): unknown[] {
  const list = value[name] ?? [];
  if (Array.isArray(list) && list.length <= 500) return list;
  wrong.push(`${at === "" ? name : `${at}.${name}`}: must be a list of at most 500`);
  return [];
}
