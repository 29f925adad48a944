// Reads the agents of a race from the words of a user: `claude,codex:gpt-5,native`. All front ends use it.
import { Fault } from "../api/error.ts";
import type { Contestant } from "./race.ts";

const hint = "-a claude,codex:gpt-5,native";

/** `list` is `agent[:model],...`; `models` is `agent:model,...` for agents without a model in the list. */
export function parseContestants(list: string | null, models: string | null): Contestant[] {
  if (list === null) throw new Fault("usage", "a race needs agents", { hint });
  const contestants = splitList(list, "--agent").map((word) => parsePair(word, "--agent"));
  for (const word of models === null ? [] : splitList(models, "--model")) {
    const { agent, model } = parsePair(word, "--model");
    const matching = contestants.filter((contestant) => contestant.agent === agent && contestant.model === null);
    if (model === null || matching.length === 0)
      throw new Fault("usage", `--model takes agent:model of an agent in --agent that has no model there, not "${word}"`, {
        hint: "-m claude:opus",
      });
    matching[0]!.model = model;
  }
  return contestants;
}

function splitList(list: string, flag: string): string[] {
  const words = list.split(",").map((word) => word.trim());
  if (words.includes("")) throw new Fault("usage", `${flag} takes a list with commas between its words, not "${list}"`, { hint });
  return words;
}

/** Only the first colon separates: a model can end with `:effort`. */
function parsePair(word: string, flag: string): Contestant {
  const colon = word.indexOf(":");
  if (colon < 0) return { agent: word, model: null };
  const [agent, model] = [word.slice(0, colon), word.slice(colon + 1)];
  if (agent === "" || model === "") throw new Fault("usage", `${flag}: "${word}" is not agent:model`, { hint });
  return { agent, model };
}
