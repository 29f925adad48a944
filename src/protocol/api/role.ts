// Roles: what someone is to be in a turn. A prompt, and ceilings on tools, policy, time and memory; never more than the
// turn itself was allowed.
import type { Role } from "../schema/setup.ts";
import { toolsByLevel, policyNames, toolLevels, type Policy, type PolicyName } from "./policy.ts";
import type { TurnOptions } from "./turn-options.ts";

export type { Role };
export type { RoleList } from "../schema/setup.ts";

/** What a role decides about a turn, unless whoever starts the turn has. */
export const roleFields = ["tools", "policy", "sandbox", "net", "time"] as const;
export type RoleField = (typeof roleFields)[number];

/** A role by its name. What it is to keep was chosen for this turn, and counts more than the role. */
export type RoleRequest = {
  name: string;
  keep?: RoleField[];
  /** A name that nobody knows is told to the agent as it is, instead of being a fault. */
  orText?: boolean;
};

/** Measured on the roles that are built in, which have 4.3 to 4.9 characters for a token. */
const charactersPerToken = 4.5;

/** About how many tokens it adds to every request. */
export function promptTokens({ prompt }: Role): number {
  return Math.ceil(prompt.length / charactersPerToken);
}

/** What its agent is told. Only in a team there are places to share. */
export function rolePrompt({ prompt, reads, writes }: Role, where: "alone" | "in-team"): string {
  if (where === "alone") return prompt;
  const places = [
    ...(reads.length === 0 ? [] : [`Read first: ${reads.join(", ")}`]),
    ...(writes.length === 0 ? [] : [`Results go to: ${writes.join(", ")}`]),
  ];
  return [prompt, ...places].filter((text) => text !== "").join("\n");
}

type NarrowableTurn = Pick<TurnOptions, "toolLevel" | "tools" | "policy" | "timeoutMs" | "idleMs">;

/** The turn with no more than the role allows, and no more than it had. */
export function narrowTurn<Turn extends NarrowableTurn>(turn: Turn, role: Role, keep: readonly RoleField[]): Turn {
  const policy = narrowedPolicy(turn.policy, role, keep);
  return {
    ...turn,
    policy,
    ...(keep.includes("tools") ? {} : narrowedTools(turn, role.tools, policy)),
    ...(keep.includes("time") ? {} : { timeoutMs: shorter(turn.timeoutMs, role.timeoutMs), idleMs: shorter(turn.idleMs, role.idleMs) }),
  };
}

/** What may write nothing has walls, or does not begin. */
function narrowedPolicy(policy: Policy, role: Role, keep: readonly RoleField[]): Policy {
  const name = keep.includes("policy") ? policy.name : narrowerPolicy(policy.name, role.policy);
  const net = role.net === "off" && name !== "full" && !keep.includes("net") ? "off" : policy.net;
  if (name === policy.name) return { ...policy, net };
  const sandbox = keep.includes("sandbox") && policy.sandbox !== "off" ? policy.sandbox : name === "workspace" ? "auto" : "required";
  return { ...policy, name, net, sandbox, allowWrite: name === "workspace" ? policy.allowWrite : [] };
}

/** By level where one fits: then other agents, which have tools of their own, can be delegated to. */
function narrowedTools(
  { toolLevel, tools }: Pick<NarrowableTurn, "toolLevel" | "tools">,
  allowed: Role["tools"],
  policy: Policy,
): Pick<NarrowableTurn, "toolLevel" | "tools"> {
  if (allowed === null) return { toolLevel, tools };
  const left = (tools ?? toolsByLevel[toolLevel]).filter((name) => allowed.includes(name) || name === "ask_user");
  if (tools !== null) return { toolLevel, tools: left };
  const fits = toolLevels.find(
    (level) => toolsByLevel[level].join() === left.join() && (level !== "readonly" || policy.name === "readonly" || toolLevel === level),
  );
  return fits === undefined ? { toolLevel, tools: [...left, "ask_user"] } : { toolLevel: fits, tools: null };
}

/** Null is no limit. */
function shorter(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

const byReach: readonly PolicyName[] = ["readonly", "plan", "workspace", "full"];

/** The one of two policies that allows less; null allows all that the other does. */
export function narrowerPolicy<A extends PolicyName | null>(a: A, b: PolicyName | null): A | PolicyName {
  if (b === null) return a;
  return a === null || byReach.indexOf(b) < byReach.indexOf(a) ? b : a;
}

export function isPolicyName(text: string): text is PolicyName {
  return policyNames.some((name) => name === text);
}
