// Roles: what someone is to be in a turn. A prompt, and ceilings on tools, policy, time and memory; never more than the
// turn itself was allowed.
import { policyNames, type PolicyName } from "./policy.ts";

export type Role = {
  name: string;
  /** One line, for whoever chooses. */
  description: string;
  /** Added to the system prompt; empty adds nothing. */
  prompt: string;
  capabilities: readonly string[];
  /** In a team: what to look at before the work, and where its results go. Paths begin with a `$SKEIN_` variable. */
  reads: readonly string[];
  writes: readonly string[];
  /** Who takes the turn where nobody was named; null leaves it to the turn. */
  agent: string | null;
  model: string | null;
  /** The only tools it may have; null are those of the turn. Another agent's command line has its own. */
  tools: readonly string[] | null;
  /** The most it may do; null is what the turn may. */
  policy: PolicyName | null;
  net: "on" | "off" | null;
  timeoutMs: number;
  idleMs: number | null;
  maxMemoryMb: number;
  origin: "built-in" | "user" | "project";
  /** Its file; null when it is built in. */
  path: string | null;
  /** The role of the same name that it makes special: the path of its file, or `built-in`. */
  specialises: string | null;
  /** What was inferred or left out, and why. */
  notes: readonly string[];
  /** What an untrusted project asked for and does not get. */
  ignored: readonly string[];
};

export type RoleList = { roles: Role[]; problems: { path: string; message: string }[] };

/** What its agent is told. Only in a team there are places to share. */
export function rolePrompt({ prompt, reads, writes }: Role, where: "alone" | "in-team"): string {
  if (where === "alone") return prompt;
  const places = [
    ...(reads.length === 0 ? [] : [`Read first: ${reads.join(", ")}`]),
    ...(writes.length === 0 ? [] : [`Results go to: ${writes.join(", ")}`]),
  ];
  return [prompt, ...places].filter((text) => text !== "").join("\n");
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
