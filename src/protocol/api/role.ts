// Roles: a prompt with upper limits on tools, policy, time and memory. A role never adds rights to a turn.
import type { Role } from "../schema/setup.ts";
import { mcpToolName } from "./tool-table.ts";
import { toolsByLevel, policyNames, toolLevels, type Policy, type PolicyName } from "./policy.ts";
import type { TurnOptions } from "./turn-options.ts";

export type { Role };
export type { RoleList } from "../schema/setup.ts";

/** Fields that a role decides, unless the caller of the turn has decided them. */
export const roleFields = ["tools", "policy", "sandbox", "net", "time"] as const;
export type RoleField = (typeof roleFields)[number];

/** A role by name. Fields in `keep` were chosen for this turn and take precedence over the role. */
export type RoleRequest = {
  name: string;
  keep?: RoleField[];
  /** An unknown name becomes part of the prompt instead of a fault. */
  orText?: boolean;
};

/** Measured on the built-in roles, which have 4.3 to 4.9 characters per token. */
const charactersPerToken = 4.5;

/** Estimated tokens that the role adds to every request. */
export function promptTokens({ prompt }: Role): number {
  return Math.ceil(prompt.length / charactersPerToken);
}

/** The role's model belongs to the role's agent, so it counts only for that agent or if the turn names none. */
export function roleModel(role: Pick<Role, "agent" | "model">, agent: string | null): string | null {
  return agent === null || agent === (role.agent ?? "native") ? role.model : null;
}

/** The prompt of the role. Only the prompt in a team names shared paths. */
export function rolePrompt({ prompt, reads, writes }: Role, where: "alone" | "in-team"): string {
  if (where === "alone") return prompt;
  const paths = [
    ...(reads.length === 0 ? [] : [`Read first: ${reads.join(", ")}`]),
    ...(writes.length === 0 ? [] : [`Results go to: ${writes.join(", ")}`]),
  ];
  return [prompt, ...paths].filter((text) => text !== "").join("\n");
}

type NarrowableTurn = Pick<TurnOptions, "toolLevel" | "tools" | "mcpServers" | "policy" | "timeoutMs" | "idleMs">;

/** Narrows a turn to a role, except for the fields that the user set explicitly. The turn never gets more than it had. */
export function narrowTurn<Turn extends NarrowableTurn>(turn: Turn, role: Role, explicitFields: readonly RoleField[]): Turn {
  const policy = narrowPolicyToRole(turn.policy, role, explicitFields);
  return {
    ...turn,
    policy,
    ...(explicitFields.includes("tools") ? {} : narrowTools(turn, role.tools, policy)),
    ...(explicitFields.includes("time")
      ? {}
      : { timeoutMs: shorter(turn.timeoutMs, role.timeoutMs), idleMs: shorter(turn.idleMs, role.idleMs) }),
  };
}

/** A policy that may write nothing requires a sandbox. */
function narrowPolicyToRole(policy: Policy, role: Role, explicitFields: readonly RoleField[]): Policy {
  const name = explicitFields.includes("policy") ? policy.name : narrowerPolicy(policy.name, role.policy);
  const isNetOff = role.net === "off" && name !== "full" && !explicitFields.includes("net");
  const { netHosts: _hosts, ...others } = policy;
  const withNet: Policy = isNetOff ? { ...others, net: "off" } : policy;
  if (name === policy.name) return withNet;
  const sandbox =
    explicitFields.includes("sandbox") && policy.sandbox !== "off" ? policy.sandbox : name === "workspace" ? "auto" : "required";
  return { ...withNet, name, sandbox, allowWrite: name === "workspace" ? policy.allowWrite : [] };
}

type ToolFields = Pick<NarrowableTurn, "toolLevel" | "tools" | "mcpServers">;

/**
 * Prefers a tool level to a list of names: external agents have their own tools and accept only a level. A role that names
 * its tools has MCP servers only if it names `mcp`.
 */
function narrowTools(turn: ToolFields, allowed: Role["tools"], policy: Policy): ToolFields {
  const { toolLevel, tools } = turn;
  if (allowed === null) return { toolLevel, tools, mcpServers: turn.mcpServers };
  const mcpServers = allowed.includes(mcpToolName) ? turn.mcpServers : null;
  const remaining = (tools ?? toolsByLevel[toolLevel]).filter((name) => allowed.includes(name) || name === "ask_user");
  if (tools !== null) return { toolLevel, tools: remaining, mcpServers };
  const fittingLevel = toolLevels.find(
    (level) =>
      toolsByLevel[level].join() === remaining.join() && (level !== "readonly" || policy.name === "readonly" || toolLevel === level),
  );
  if (fittingLevel !== undefined) return { toolLevel: fittingLevel, tools: null, mcpServers };
  return { toolLevel, tools: [...remaining, ...(mcpServers === null ? [] : [mcpToolName]), "ask_user"], mcpServers };
}

/** The shorter of two limits; null is no limit. */
function shorter(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

const narrowestFirst: readonly PolicyName[] = ["readonly", "plan", "workspace", "full"];

/** The narrower of two policies; null allows everything. */
export function narrowerPolicy<A extends PolicyName | null>(a: A, b: PolicyName | null): A | PolicyName {
  if (b === null) return a;
  return a === null || narrowestFirst.indexOf(b) < narrowestFirst.indexOf(a) ? b : a;
}

export function isPolicyName(text: string): text is PolicyName {
  return policyNames.some((name) => name === text);
}
