// One vocabulary: who is meant by the name of an agent, a vendor or a model. A small table, so that a turn of the
// native agent loads nothing of the others.
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import { parseModelName, findVendor, vendors } from "../../../models/vendors.ts";
import { Fault } from "../../../protocol/api/error.ts";

export type AgentEntry = {
  name: string;
  canFork: boolean;
  /** Whose models it brings; null for one that asks any vendor. */
  vendor: string | null;
  /** False for one that keeps no sessions of its own. */
  resumes?: boolean;
};

export const externalAgentTable: readonly AgentEntry[] = [
  { name: "claude", canFork: true, vendor: "anthropic" },
  { name: "codex", canFork: true, vendor: "openai" },
  { name: "gemini", canFork: false, vendor: "gemini" },
  { name: "opencode", canFork: true, vendor: null },
  { name: "pi", canFork: true, vendor: null },
];

export type ChosenAgent = { agent: string; model: string | null };

/** A vendor that is also an agent (gemini) means the agent; the native agent on it is `-m gemini/...`. */
export function chooseAgent(
  name: string,
  model: string | null,
  others: { agents: readonly string[]; vendors: readonly string[] },
): ChosenAgent {
  if (name === "native" || others.agents.includes(name) || externalAgentTable.some((row) => row.name === name))
    return { agent: name, model };
  if (findVendor(name) !== undefined || others.vendors.includes(name)) return { agent: "native", model: onVendor(name, model) };
  const named = modelNamed(name);
  if (named === null) throw unknown(name, others);
  if (model !== null) throw new Fault("usage", `-a ${name} names a model already; leave -m out`);
  const row = externalAgentTable.find((candidate) => candidate.vendor === named.vendor);
  if (row !== undefined) return { agent: row.name, model: named.model };
  throw new Fault("model-api-only", `${name} has no agent of its own: it can only be asked over the API`, {
    hint: `use -m ${named.model}`,
  });
}

/** The model of an agent that brings its own; null leaves it to that agent. */
export function agentModel({ name, vendor }: AgentEntry, model: string | null): string | null {
  if (model === null) return null;
  const parsed = parseModelName(model);
  const effort = parsed.effort === null ? "" : `:${parsed.effort}`;
  if (vendor === null || parsed.vendor === vendor) return `${parsed.vendor}/${parsed.model}${effort}`;
  throw new Fault("usage", `${name} can't ask ${parsed.vendor}'s ${parsed.model}`, {
    hint: `name one of ${vendor}'s models, or another agent with -a`,
  });
}

function onVendor(vendor: string, model: string | null): string {
  if (model === null) return vendor;
  return model.startsWith(`${vendor}/`) ? model : `${vendor}/${model}`;
}

function modelNamed(name: string): { vendor: string; model: string } | null {
  const isFull = name.includes("/") && (findVendor(name.slice(0, name.indexOf("/"))) !== undefined || name.startsWith("replay/"));
  if (!isFull && !vendors.some((vendor) => vendor.ids?.test(name))) return null;
  const { vendor, model, effort } = parseModelName(name);
  return { vendor, model: `${vendor}/${model}${effort === null ? "" : `:${effort}`}` };
}

function unknown(name: string, others: { agents: readonly string[] }): Fault {
  const agents = ["native", ...externalAgentTable.map((row) => row.name), ...others.agents];
  const near = nearestWord(name, agents);
  const hint = `the agents are: ${agents.join(", ")}; a model's name works too`;
  return new Fault("not-installed", `no agent or model "${name}"${near === null ? "" : `; did you mean ${near}?`}`, { hint });
}
