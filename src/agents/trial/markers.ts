// The words by which a trial knows its own texts again in a request, on disk and in a table of processes: no two trials
// share one, and no escaping changes them.
import { randomInt } from "node:crypto";
import type { ScriptSource } from "../../scripted-model/model-server.ts";
import { shellScript } from "../../scripted-model/script.ts";

export type TrialMarkers = {
  /** In every prompt of the trial. */
  mark: string;
  /** Of the first turn: what is asked, written to the file, printed, and answered. */
  asked: string;
  file: string;
  written: string;
  printed: string;
  answered: string;
  fork: string;
  trunk: string;
  again: string;
  /** The call that is stopped: the file that says it has begun, and how long it sleeps. */
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
  first: (words: TrialMarkers): string => `${words.mark} ${words.asked}: run the command`,
  fork: (words: TrialMarkers): string => `${words.mark} ${words.fork}: and now`,
  trunk: (words: TrialMarkers): string => `${words.mark} ${words.trunk}: go on`,
  again: (words: TrialMarkers): string => `${words.mark} ${words.again}: on the fork`,
  kill: (words: TrialMarkers): string => `${words.mark} ${words.begun}: run the long command`,
};

/** An agent that is told the earlier conversation has all of its words in one prompt: the latest turn's come first. */
export function trialScript(words: TrialMarkers): ScriptSource {
  return ({ position: { prompt } }) => {
    if (prompt.includes(words.begun)) return shellScript([`echo begun > ${words.begun}; sleep ${words.sleep}`], "it was not stopped");
    if (prompt.includes(words.again)) return shellScript([], "on the fork again");
    if (prompt.includes(words.trunk)) return shellScript([], "on the trunk");
    if (prompt.includes(words.fork)) return shellScript([], "on the fork");
    return shellScript([`echo ${words.written} > ${words.file} && echo ${words.printed}`], words.answered);
  };
}
