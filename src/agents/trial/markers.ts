// Unique words that a trial looks for in requests, in files and in the list of processes. No two trials share one, and
// they need no escaping.
import { randomInt } from "node:crypto";
import type { ScriptSource } from "../../scripted-model/model-server.ts";
import { shellScript } from "../../scripted-model/script.ts";

export type TrialMarkers = {
  /** Occurs in every prompt of the trial. */
  mark: string;
  /** Words of the first turn: in its prompt, in its file, in the command's output and in the answer. */
  asked: string;
  file: string;
  written: string;
  printed: string;
  answered: string;
  /** Words in the prompts of the later turns: the fork's, the trunk's, and the fork's second one. */
  fork: string;
  trunk: string;
  again: string;
  /** The call to stop: the file that marks its start, and the seconds of its sleep. */
  begun: string;
  sleep: string;
};

export function createMarkers(): TrialMarkers {
  const tail = String(randomInt(1e8, 1e9));
  const word = (name: string): string => `${name}${tail}`;
  return {
    mark: word("trial"),
    asked: word("blue"),
    file: `${word("proof")}.txt`,
    written: word("paper"),
    printed: word("ink"),
    answered: word("whale"),
    fork: word("left"),
    trunk: word("right"),
    again: word("more"),
    begun: `${word("begun")}.txt`,
    sleep: `600.${tail}`,
  };
}

export const trialPrompts = {
  first: (markers: TrialMarkers): string => `${markers.mark} ${markers.asked}: run the command`,
  fork: (markers: TrialMarkers): string => `${markers.mark} ${markers.fork}: and now`,
  trunk: (markers: TrialMarkers): string => `${markers.mark} ${markers.trunk}: go on`,
  again: (markers: TrialMarkers): string => `${markers.mark} ${markers.again}: on the fork`,
  kill: (markers: TrialMarkers): string => `${markers.mark} ${markers.begun}: run the long command`,
};

/** Tests the latest turn first: an agent that gets a brief has the markers of all turns in one prompt. */
export function trialScript(markers: TrialMarkers): ScriptSource {
  return ({ position: { prompt } }) => {
    if (prompt.includes(markers.begun)) return shellScript([`echo begun > ${markers.begun}; sleep ${markers.sleep}`], "it was not stopped");
    if (prompt.includes(markers.again)) return shellScript([], "on the fork again");
    if (prompt.includes(markers.trunk)) return shellScript([], "on the trunk");
    if (prompt.includes(markers.fork)) return shellScript([], "on the fork");
    return shellScript([`echo ${markers.written} > ${markers.file} && echo ${markers.printed}`], markers.answered);
  };
}
