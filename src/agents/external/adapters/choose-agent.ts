// Resolves the name of an agent, a vendor or a model to an agent and a model. Loads no adapter.
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import { nearestModel, requireModelName, resolveModelName, type NameOptions } from "../../../models/model-names.ts";
import { findVendor, fullModelName, isApiOnly, type ModelName, parseModelName, vendors } from "../../../models/vendors.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { type AgentEntry, externalAgentNames, externalAgents } from "./index.ts";

export type ChosenAgent = { agent: string; model: string | null };

/** Names from the configuration, and what names of models mean here. */
export type KnownNames = NameOptions & { agents: readonly string[] };

/** A name of both a vendor and an agent (gemini) means the agent; `-m gemini/...` is the native agent with that vendor. */
export function chooseAgent(name: string, model: string | null, known: KnownNames): ChosenAgent {
  const agents = ["native", ...externalAgentNames, ...known.agents];
  if (agents.includes(name)) return { agent: name, model };
  if (findVendor(name) !== undefined || known.vendors.includes(name)) return { agent: "native", model: modelOfVendor(name, model) };
  const named = namedModel(name, known, agents);
  if (model !== null) throw new Fault("usage", `-a ${name} names a model already; leave -m out`);
  const entry = externalAgents.find(({ vendor }) => vendor === named.vendor);
  if (entry === undefined || isApiOnly(named.model)) throw apiOnly("no agent can", named);
  return { agent: entry.name, model: fullModelName(named) };
}

/** The full name of a model for this agent; null leaves the choice to the agent. Throws if the agent can't use the model. */
export function agentModel({ name, vendor }: Pick<AgentEntry, "name" | "vendor">, model: string | null, known: KnownNames): string | null {
  if (model === null) return null;
  // An alias means the model of the agent's own vendor, which may have a sign-in instead of a key.
  const isReady = vendor === null ? known.isReady : (other: string) => other === vendor;
  const parsed = parseModelName(resolveModelName(model, { ...known, isReady }));
  if (vendor !== null && parsed.vendor !== vendor)
    throw new Fault("usage", `${name} can't use ${parsed.vendor}'s ${parsed.model}`, {
      hint: `name one of ${vendor}'s models, or another agent with -a`,
    });
  if (isApiOnly(parsed.model)) throw apiOnly(`${name} can't`, parsed);
  return fullModelName(parsed);
}

function modelOfVendor(vendor: string, model: string | null): string {
  if (model === null) return vendor;
  return model.startsWith(`${vendor}/`) ? model : `${vendor}/${model}`;
}

/** The model that a name means, of the vendor that has an agent. */
function namedModel(name: string, known: KnownNames, agents: readonly string[]): ModelName {
  const hasAgent = (vendor: string) => externalAgents.some((entry) => entry.vendor === vendor);
  try {
    return parseModelName(requireModelName(name, { ...known, isReady: hasAgent }));
  } catch (error) {
    if (!(error instanceof Fault) || name.includes("/")) throw error;
    throw unknownAgent(name, agents);
  }
}

/** `subject` is "no agent can", or an agent that can't. */
function apiOnly(subject: string, model: ModelName): Fault {
  const full = fullModelName(model);
  return new Fault("model-api-only", `${subject} use ${full}: it can only be asked over the API`, {
    hint: `ask it with consult_with (skein mcp), or with the native agent: skein run -a native -m ${full}${isApiOnly(model.model) ? " --tool-level none" : ""}`,
  });
}

function unknownAgent(name: string, agents: readonly string[]): Fault {
  const near = nearestWord(name, agents) ?? nearestModel(name);
  const vendorNames = vendors.map((vendor) => vendor.name).join(", ");
  const hint = `the agents are: ${agents.join(", ")}; the vendors are: ${vendorNames}; a model's name works too`;
  return new Fault("not-installed", `no agent or model "${name}"${near === null ? "" : `; did you mean ${near}?`}`, { hint });
}
