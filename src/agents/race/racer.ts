// Runs one agent of a race in its own worktree, then the check. An end that the user or the race's own budget caused is not
// recorded, so that a resumed race continues there.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { TurnError } from "../../protocol/api/error.ts";
import type { DelegateRequest, TurnContext, TurnInput } from "../../protocol/api/ports.ts";
import {
  hasPassed,
  raceEventOf,
  racerEndText,
  type RaceCheck,
  type RaceEvent,
  type RaceRecord,
  type RacerEnd,
  type RacerRecord,
} from "../../protocol/race/race.ts";
import { zeroSpent } from "../../protocol/tree/usage.ts";
import { toTurnError } from "../delegate-failure.ts";

export type RaceRun = {
  input: TurnInput;
  context: TurnContext;
  record: RaceRecord;
  /** The first agent that passed, if the race adopts it; null before. Set once. */
  winner: RacerRecord | null;
  /** The reason to stop the whole race; null while it runs. */
  halt: TurnError | null;
  /** Stops one agent, by its key. */
  stops: ReadonlyMap<string, AbortController>;
  /** Resolves when the event is stored. */
  recordEvent: (event: RaceEvent, text: string) => Promise<void>;
};

const maxErrorBytes = 500;

/** Resolves when the agent has ended and its end is recorded. */
export async function runRacer(run: RaceRun, racer: RacerRecord): Promise<void> {
  if (!racer.isStarted) await run.recordEvent({ event: "racer_started", racer: racer.key }, `${racer.key} starts`);
  const end = await runToEnd(run, racer);
  if (end === null) return;
  if (hasPassed(end) && run.record.wish.adoptFirstPassing) stopOthers(run, racer);
  const text = `${racer.key} ended: ${racerEndText(end)}`;
  await run.recordEvent({ event: "racer_ended", racer: racer.key, ...end }, oneLine(text, maxErrorBytes));
}

/** The end of the agent; null if the whole race is stopped. */
async function runToEnd(run: RaceRun, racer: RacerRecord): Promise<RacerEnd | null> {
  const { context, record } = run;
  const failure = (await hasFinished(run, racer)) ? null : await takeTask(run, racer);
  if (failure !== null) {
    const stoppedBy = run.winner === null || run.winner === racer ? null : run.winner.key;
    if (context.signal.aborted) return null;
    const budgetError = failure.kind === "budget" ? context.count(zeroSpent) : null;
    if (budgetError !== null) {
      run.halt ??= budgetError;
      return null;
    }
    if (failure.kind === "cancelled" && stoppedBy !== null) return { status: "cancelled", error: `${stoppedBy} passed first`, check: null };
    return { status: failure.kind, error: oneLine(failure.message, maxErrorBytes), check: null };
  }
  const check = record.wish.check === null ? null : await runCheck(run, racer, record.wish.check);
  return context.signal.aborted ? null : { status: "ok", error: null, check };
}

/** Whether its turn ended ok before the race was interrupted. */
async function hasFinished({ input, context }: RaceRun, racer: RacerRecord): Promise<boolean> {
  if (!racer.isStarted) return false;
  const start = input.path.find((node) => {
    const event = raceEventOf(node);
    return event?.event === "racer_started" && event.racer === racer.key;
  });
  return start !== undefined && (await context.findFinishedTask(racer.session, start.at)) !== null;
}

/** Returns null if the agent ended ok, else its error. */
async function takeTask(run: RaceRun, racer: RacerRecord): Promise<TurnError | null> {
  const { task } = run.record.wish;
  try {
    const result = await run.context.delegate({
      ...delegateFields(run, racer),
      role: run.record.wish.role ?? null,
      task,
      resumePrompt: null,
      call: `racer ${racer.key}`,
      attachable: true,
      limits: { maxSteps: run.input.limits.maxSteps },
    });
    if (result.status === "ok") return null;
    return result.error ?? { kind: result.status, message: result.status };
  } catch (error) {
    return toTurnError(error);
  }
}

function delegateFields(run: RaceRun, { key, session, agent, model }: RacerRecord) {
  const { record, stops } = run;
  return {
    session,
    agent,
    model,
    role: null,
    title: `${key}: ${oneLine(record.wish.task, 200)}`,
    forkAt: record.base,
    worktree: { name: null, withChanges: record.wish.withChanges, withIgnored: record.wish.withIgnored },
    sandbox: {},
    signal: AbortSignal.any([run.context.signal, stops.get(key)!.signal]),
  } satisfies Partial<DelegateRequest>;
}

/** Runs the command in the agent's session, so that its output is part of that branch. */
async function runCheck(run: RaceRun, racer: RacerRecord, command: string): Promise<RaceCheck> {
  try {
    const {
      status,
      exitCode = null,
      error,
    } = await run.context.delegate({
      ...delegateFields(run, racer),
      title: `${racer.key}: ${oneLine(command, 200)}`,
      task: command,
      command,
      call: `check ${racer.key}`,
      attachable: false,
      limits: { timeoutMs: run.record.wish.checkTimeoutMs },
    });
    if (status === "ok") return { passed: exitCode === 0, exitCode, problem: null };
    const isBeaten = run.winner !== null && status === "cancelled";
    const problem = isBeaten ? `stopped, because ${run.winner?.key} passed first` : (error?.message ?? status);
    return { passed: false, exitCode: null, problem: oneLine(problem, maxErrorBytes) };
  } catch (error) {
    return { passed: false, exitCode: null, problem: oneLine(toTurnError(error).message, maxErrorBytes) };
  }
}

function stopOthers(run: RaceRun, racer: RacerRecord): void {
  if (run.winner !== null) return;
  run.winner = racer;
  for (const [key, stop] of run.stops) if (key !== racer.key) stop.abort();
}
