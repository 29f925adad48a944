// Who takes part in a group: a name is an agent, which looks around with its tools behind read-only walls, or a model,
// which is asked and has none.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { parseModelName, findVendor } from "../../models/vendors.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { GroupTask } from "../../protocol/team/group.ts";

export type Participant = {
  /** As it was named; one that was named twice is told apart. */
  name: string;
  agent: string;
  model: string | null;
  isModel: boolean;
};

/** Agents by name, and the vendors of the configuration. */
export type KnownNames = { agents: readonly string[]; vendors: readonly string[] };

/** Throws for a name that is nobody's. Whether it can be asked at all shows when it is. */
export function resolveParticipants(names: readonly string[], known: KnownNames): Participant[] {
  const seen = new Map<string, number>();
  return names.map((name) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    const seat = resolveParticipant(name, known);
    return count === 1 ? seat : { ...seat, name: `${name} #${count}` };
  });
}

/** Who writes the deliverable: whoever is named, the first model that takes part, or the project's own. */
export function chooseSynthesizer({ synthesizer }: GroupTask, seats: Participant[], known: KnownNames): Participant {
  if (synthesizer !== null) return resolveParticipant(synthesizer, known);
  return seats.find(({ isModel }) => isModel) ?? { name: "the project's model", agent: "native", model: null, isModel: true };
}

function resolveParticipant(name: string, { agents, vendors }: KnownNames): Participant {
  if (agents.includes(name)) return { name, agent: name, model: null, isModel: false };
  const model = { name, agent: "native", model: name, isModel: true };
  if (findVendor(name) !== undefined) return model;
  const near = nearestWord(name, agents);
  const fault = new Fault("usage", `no agent or model "${name}"${near === null ? "" : `; did you mean ${near}?`}`, {
    hint: `the agents are: ${agents.join(", ")}; a model is vendor/id, as in anthropic/claude-opus-5-5`,
  });
  const vendor = vendorIn(name);
  if (vendor === null || (findVendor(vendor) === undefined && !vendors.includes(vendor) && vendor !== "replay")) throw fault;
  return model;
}

function vendorIn(name: string): string | null {
  try {
    return parseModelName(name).vendor;
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}
