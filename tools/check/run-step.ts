// Runs the commands of one step in parallel. A test file that failed beside others may run once more, alone, after the
// step. If it passes then, it is unsteady: it needs a repair, but does not fail the run.
import { runCommand, type Command, type CommandContext, type CommandResult } from "./run-command.ts";

export type Step = { name: string; commands: Command[] };

export type StepContext = CommandContext & {
  lanes: number;
  /** How many files may run once more. If more have failed, none does: the change is broken, not unsteady. */
  reruns: number;
};

/** `results` has one entry per command; for a repeated file it is the second one. */
export type StepEnd = { results: CommandResult[]; unsteady: string[] };

type FirstRun = { command: Command; result: CommandResult; wasAlone: boolean };

/** Runs every command, also after one has failed. */
export async function runStep({ name, commands }: Step, context: StepContext): Promise<StepEnd> {
  context.print(`\n── ${name}\n`);
  const runs = await runInLanes(commands, context);
  const failed = runs.filter(({ result }) => !result.isOk);
  const mayRepeat = failed.length <= context.reruns && failed.every(({ command, wasAlone }) => command.isTest && !wasAlone);
  if (!mayRepeat) return { results: runs.map(({ result }) => result), unsteady: [] };
  const unsteady: string[] = [];
  for (const run of failed) {
    context.print(`\nalone: ${run.command.name}\n`);
    run.result = await runCommand(run.command, context);
    if (run.result.isOk) unsteady.push(run.command.name);
  }
  return { results: runs.map(({ result }) => result), unsteady };
}

/** Each lane starts the next command when its last one has exited. */
async function runInLanes(commands: Command[], context: StepContext): Promise<FirstRun[]> {
  const waiting = [...commands];
  const ended: FirstRun[] = [];
  const inFlight = new Set<{ wasAlone: boolean }>();
  const lane = async (): Promise<void> => {
    for (let command = waiting.shift(); command !== undefined; command = waiting.shift()) {
      const state = { wasAlone: inFlight.size === 0 };
      for (const neighbour of inFlight) neighbour.wasAlone = false;
      inFlight.add(state);
      const result = await runCommand(command, context);
      inFlight.delete(state);
      ended.push({ command, result, wasAlone: state.wasAlone });
    }
  };
  await Promise.all(Array.from({ length: context.lanes }, lane));
  return ended;
}
