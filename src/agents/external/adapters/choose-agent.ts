// Resolves the name of an agent, a vendor or a model to an agent and a model. Loads no adapter.
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import { parseModelName, findVendor, vendors } from "../../../models/vendors.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { type AgentEntry, externalAgentNames, externalAgents } from "./index.ts";

export type ChosenAgent = { agent: string; model: string | null };

/** Names from the configuration. */
export type ConfiguredNames = { agents: readonly string[]; vendors: readonly string[] };

/** A name of both a vendor and an agent (gemini) means the agent; `-m gemini/...` is the native agent with that vendor. */
export function chooseAgent(name: string, model: string | null, configured: ConfiguredNames): ChosenAgent {
  const agents = ["native", ...externalAgentNames, ...configured.agents];
  if (agents.includes(name)) return { agent: name, model };
  if (findVendor(name) !== undefined || configured.vendors.includes(name)) return { agent: "native", model: modelOfVendor(name, model) };
  const named = parseModel(name);
  if (named === null) throw unknownAgent(name, agents);
  if (model !== null) throw new Fault("usage", `-a ${name} names a model already; leave -m out`);
  const entry = externalAgents.find(({ vendor }) => vendor === named.vendor);
  if (entry !== undefined) return { agent: entry.name, model: named.model };
  throw new Fault("model-api-only", `no agent uses ${name}: it can only be asked over the API`, { hint: `use -m ${named.model}` });
}

/** The full name of a model for this agent; null leaves the choice to the agent. Throws if the agent can't use the model. */
export function agentModel({ name, vendor }: Pick<AgentEntry, "name" | "vendor">, model: string | null): string | null {
  if (model === null) return null;
  const parsed = parseModelName(model);
  if (vendor === null || parsed.vendor === vendor) return fullModelName(parsed);
  throw new Fault("usage", `${name} can't use ${parsed.vendor}'s ${parsed.model}`, {
    hint: `name one of ${vendor}'s models, or another agent with -a`,
  });
}

function modelOfVendor(vendor: string, model: string | null): string {
  if (model === null) return vendor;
  return model.startsWith(`${vendor}/`) ? model : `${vendor}/${model}`;
}

function parseModel(name: string): { vendor: string; model: string } | null {
  const isFull = name.includes("/") && (findVendor(name.slice(0, name.indexOf("/"))) !== undefined || name.startsWith("replay/"));
  if (!isFull && !vendors.some((vendor) => vendor.ids?.test(name))) return null;
  const parsed = parseModelName(name);
  return { vendor: parsed.vendor, model: fullModelName(parsed) };
}

function fullModelName({ vendor, model, effort }: ReturnType<typeof parseModelName>): string {
  return `${vendor}/${model}${effort === null ? "" : `:${effort}`}`;
}

function unknownAgent(name: string, agents: string[]): Fault {
  const near = nearestWord(name, agents);
  const vendorNames = vendors.map((vendor) => vendor.name).join(", ");
  const hint = `the agents are: ${agents.join(", ")}; the vendors are: ${vendorNames}; a model's name works too`;
  return new Fault("not-installed", `no agent or model "${name}"${near === null ? "" : `; did you mean ${near}?`}`, { hint });
}
