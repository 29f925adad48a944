// Resolves the participants of a group. A name is an agent, which has its tools in a read-only sandbox, or a model, which has
// no tools.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { GroupTask } from "../../protocol/team/group.ts";

export type Participant = {
  /** The name of the agent or the full name of the model, with a number if it occurs twice. */
  name: string;
  agent: string;
  model: string | null;
  /** True for a model without an agent, which has no tools. */
  isModel: boolean;
};

export type KnownNames = {
  agents: readonly string[];
  /** Returns the full name of a model. Throws a fault if there is none. */
  resolveModel: (name: string) => string;
};

/** Throws for an unknown name. Does not check whether the agent or model works. */
export function resolveParticipants(names: readonly string[], known: KnownNames): Participant[] {
  const counts = new Map<string, number>();
  return names.map((requested) => {
    const participant = resolveParticipant(requested, known);
    const count = (counts.get(participant.name) ?? 0) + 1;
    counts.set(participant.name, count);
    return count === 1 ? participant : { ...participant, name: `${participant.name} #${count}` };
  });
}

/** The writer of the deliverable: the named one, else the first participant that is a model, else the project's model. */
export function chooseSynthesizer({ synthesizer }: GroupTask, participants: Participant[], known: KnownNames): Participant {
  if (synthesizer !== null) return resolveParticipant(synthesizer, known);
  return participants.find(({ isModel }) => isModel) ?? { name: "the project's model", agent: "native", model: null, isModel: true };
}

function resolveParticipant(name: string, { agents, resolveModel }: KnownNames): Participant {
  if (agents.includes(name)) return { name, agent: name, model: null, isModel: false };
  try {
    const model = resolveModel(name);
    return { name: model, agent: "native", model, isModel: true };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const nearest = nearestWord(name, agents);
    const message = nearest === null ? error.message : `no agent or model "${name}"; did you mean ${nearest}?`;
    throw new Fault(error.code, message, { hint: `the agents are: ${agents.join(", ")}; ${error.hint ?? ""}`, cause: error });
  }
}
