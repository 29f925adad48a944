// The prompts of a loop's passes. Each has the output of the last check, so that the agent need not run it first.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Store } from "../../store/store.ts";
import { fencedOutput, readCheckOutput, type CheckOutput } from "../checks/check-turn.ts";
import { lastTurnOf, passCount, type LoopSettings, type Pass } from "./loop-state.ts";

/** Lists show the start of a prompt. The conversation has the whole task. */
const maxTaskChars = 200;

type PassPrompt = { loop: LoopSettings; number: number; output: CheckOutput | null };

/** The first prompt of a conversation has the task. A later one in the same conversation has only what is new. */
export async function promptOf(store: Store, loop: LoopSettings, passes: readonly Pass[]): Promise<string> {
  const last = passes.at(-1);
  const output = last === undefined ? null : await readCheckOutput(store, lastTurnOf(last));
  const number = (last?.number ?? 0) + 1;
  return number === 1 || loop.fresh ? taskPrompt({ loop, number, output }) : nextPrompt({ loop, number, output });
}

function taskPrompt({ loop, number, output }: PassPrompt): string {
  const goal = `The work is done when this command exits with 0: \`${loop.until}\``;
  const tried = number === 1 ? "" : ` ${passCount(number - 1)} before this one did not reach that; their changes are in the files.`;
  return [loop.task, `${goal}.${tried}`, ...outputLines(output, "It fails now")].join("\n\n");
}

function nextPrompt({ loop, number, output }: PassPrompt): string {
  const head = `Pass ${number} of ${loop.maxRuns}: ${oneLine(loop.task, maxTaskChars)}`;
  return [head, `The check \`${loop.until}\` still fails. Find the cause and fix it.`, ...outputLines(output, "It failed")].join("\n\n");
}

function outputLines(output: CheckOutput | null, head: string): string[] {
  return output === null ? [] : [`${head} (${output.ending}). ${fencedOutput(output)}`];
}
