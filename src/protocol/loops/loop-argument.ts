// The argument of `/loop`: a command, in quotes if it has blanks, and the task: `"npm test" make the tests pass`.
import { defaultMaxRuns, type LoopTask } from "./check-options.ts";

export const loopExample = '/loop "npm test" make the tests pass';

/** Null if the command or the task is missing. */
export function parseLoopArgument(argument: string): { until: string; task: string } | null {
  const [, double, single, word, task = ""] = /^(?:"([^"]+)"|'([^']+)'|([^\s"']\S*))\s+(\S[^]*)$/.exec(argument.trim()) ?? [];
  const until = double ?? single ?? word;
  return until === undefined ? null : { until, task: task.trim() };
}

/** The options of a turn that is repeated until the command succeeds. The command is also its check. */
export function loopUntil(until: string): { loop: LoopTask; check: null } {
  return { loop: { until, maxRuns: defaultMaxRuns, fresh: false, agents: [] }, check: null };
}
