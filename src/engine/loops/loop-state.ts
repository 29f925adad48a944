// The state of a loop, read from its turns, and the next step that follows from it. Nothing else is stored, so a loop
// continues after a kill with the same settings and counts.
import { pluralize } from "../../kit/text/cut-text.ts";
import { budgetUsedUp, type TurnError, type TurnStatus } from "../../protocol/api/error.ts";
import { dollarsText } from "../../protocol/tree/usage-text.ts";
import { addSpent, countedTokens, withSubSessions, zeroSpent, type Spent } from "../../protocol/tree/usage.ts";
import type { CheckOutcome, Turn, TurnLoop } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import { endingText } from "../checks/check-turn.ts";

/** The settings of a loop, without the place of one of its turns. */
export type LoopSettings = Omit<TurnLoop, "pass" | "stage">;

/** Number 0 is the check before the first pass. A pass that was interrupted has several turns; the last one counts. */
export type Pass = { number: number; stage: number; turns: Turn[]; before: string | null; after: string | null };

export type LoopReason = "passed" | "no-progress" | "max-runs" | "budget" | "failed";

export type LoopStep =
  | { do: "check" }
  /** `isContinued`: the pass has begun and was interrupted. `changesAgent`: another agent than in the pass before. */
  | { do: "pass"; number: number; stage: number; isContinued: boolean; changesAgent: boolean }
  /** `kind` is the status of the turn after which the loop stops; default `check-failed`. */
  | { do: "stop"; reason: LoopReason; why: string; kind?: TurnStatus };

export async function readPasses(store: Store, session: string, loop: string): Promise<Pass[]> {
  const turns = (await store.turnsOf(session)).filter((turn) => turn.loop?.id === loop);
  const files = await store.turnFiles(turns.map(({ id }) => id));
  const passes = Map.groupBy(turns, (turn) => turn.loop!.pass);
  return Array.from(passes, ([number, ofPass]) => {
    const known = ofPass.flatMap(({ id }) => files.get(id) ?? []);
    const after = known.at(-1)?.after ?? known.at(-1)?.before ?? null;
    return { number, stage: ofPass.at(-1)!.loop!.stage, turns: ofPass, before: known[0]?.before ?? null, after };
  });
}

export function lastTurnOf({ turns }: Pass): Turn {
  return turns.at(-1)!;
}

export function checkedOf(pass: Pass): CheckOutcome | undefined {
  return lastTurnOf(pass).checked;
}

/** Tokens and money of all passes, with their sub-sessions. */
export function spentBy(passes: readonly Pass[]): Spent {
  return passes.flatMap(({ turns }) => turns.map(withSubSessions)).reduce(addSpent, zeroSpent);
}

/** `resumes`: an interrupted or failed pass is continued. Else the loop ends with it. */
export function nextStep(loop: LoopSettings, passes: readonly Pass[], { resumes }: { resumes: boolean }): LoopStep {
  const last = passes.at(-1);
  if (last === undefined) return { do: "check" };
  const turn = lastTurnOf(last);
  const { checked } = turn;
  if (checked?.passed === true && turn.status === "ok") return { do: "stop", reason: "passed", why: passedText(passes) };
  if (checked === undefined) return resumes ? continued(last) : { do: "stop", ...interruption(turn) };
  const exhausted = findUsedLimit(loop, passes);
  if (exhausted !== null) return { do: "stop", reason: "budget", why: exhausted.message, kind: exhausted.kind };
  const next = { do: "pass", number: last.number + 1, isContinued: false } as const;
  if (last.number === 0) return { ...next, stage: 0, changesAgent: false };
  const repeated = findRepeat(passes);
  const hasOther = last.stage + 1 < loop.agents.length;
  if (repeated !== null && !hasOther) return { do: "stop", reason: "no-progress", why: repeatText(last.number, repeated) };
  if (last.number >= loop.maxRuns) return { do: "stop", reason: "max-runs", why: `the check still fails after ${passCount(last.number)}` };
  return { ...next, stage: repeated === null ? last.stage : last.stage + 1, changesAgent: repeated !== null };
}

function continued({ number, stage }: Pass): LoopStep {
  return number === 0 ? { do: "check" } : { do: "pass", number, stage, isContinued: true, changesAgent: false };
}

function interruption({ status, error }: Turn): { reason: LoopReason; why: string } {
  return { reason: status === "budget" ? "budget" : "failed", why: error?.message ?? `the turn ended as ${status ?? "killed"}` };
}

function passedText(passes: readonly Pass[]): string {
  const count = passes.filter(({ number }) => number > 0).length;
  return count === 0 ? "the check passes already, so nothing was sent to a model" : `the check passes after ${passCount(count)}`;
}

export function passCount(count: number): string {
  return count === 1 ? "1 pass" : `${count} passes`;
}

function repeatText(number: number, repeated: number): string {
  return `no progress: after pass ${number} the files and the output of the check are the same as after pass ${repeated}`;
}

/**
 * The number of an earlier pass with the same files and the same check output as the last one; null if there is none. A pass
 * that changed no file is also compared if the files differ because the check itself writes some. Without recorded files
 * the output alone counts.
 */
export function findRepeat(passes: readonly Pass[]): number | null {
  const last = passes.at(-1);
  const checked = last === undefined ? undefined : checkedOf(last);
  if (last === undefined || checked === undefined) return null;
  const earlier = passes.filter(({ number }) => number > 0 && number < last.number);
  const isSame = (pass: Pass) => pass.after === last.after && checkedOf(pass)?.digest === checked.digest;
  const changedNothing = last.before !== null && last.before === last.after;
  const previous = earlier.at(-1);
  if (changedNothing && previous !== undefined && checkedOf(previous)?.digest === checked.digest) return previous.number;
  return earlier.findLast(isSame)?.number ?? null;
}

export type RemainingLimits = { maxTokens: number | null; maxBudgetUsd: number | null; treeSteps: number | null; timeoutMs: number | null };

/** One budget over all passes. Time counts only while a turn runs. */
export function remainingLimits(loop: LoopSettings, passes: readonly Pass[]): RemainingLimits {
  const spent = spentBy(passes);
  const turns = passes.flatMap((pass) => pass.turns);
  const steps = turns.reduce((sum, turn) => sum + turn.steps, 0);
  const ranMs = turns.reduce((sum, { startedAt, endedAt }) => sum + ((endedAt ?? startedAt) - startedAt), 0);
  const rest = (limit: number | null, used: number) => (limit === null ? null : Math.max(0, limit - used));
  return {
    maxTokens: rest(loop.maxTokens, countedTokens(spent.usage)),
    maxBudgetUsd: rest(loop.maxBudgetUsd, spent.costUsd ?? 0),
    treeSteps: rest(loop.maxSteps, steps),
    timeoutMs: rest(loop.timeoutMs, ranMs),
  };
}

/** The error of a limit that the passes have used up; null if there is some left. */
function findUsedLimit(loop: LoopSettings, passes: readonly Pass[]): TurnError | null {
  const left = remainingLimits(loop, passes);
  if (left.maxTokens === 0) return budgetUsedUp("tokens", `${loop.maxTokens} tokens`);
  if (left.maxBudgetUsd === 0) return budgetUsedUp("money", dollarsText(loop.maxBudgetUsd ?? 0));
  if (left.treeSteps === 0) return budgetUsedUp("steps", pluralize(loop.maxSteps ?? 0, "step"));
  return left.timeoutMs === 0 ? { kind: "timed-out", message: "the time of the loop is over" } : null;
}

/** One line about a pass, for messages. */
export function passText(loop: LoopSettings, number: number, outcome: CheckOutcome): string {
  const place = number === 0 ? "before the first pass" : `after pass ${number} of ${loop.maxRuns}`;
  return `the check fails ${place}: \`${outcome.command}\`, ${endingText(outcome)}`;
}
