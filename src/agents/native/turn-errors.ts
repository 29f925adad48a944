// The errors that end a native turn, with hints for the user.
import { resumeCommand, type TurnError } from "../../protocol/api/error.ts";
import type { TurnEnd } from "../../protocol/tree/turn.ts";
import { toTurnError } from "../delegate-failure.ts";

export function refusal(model: string): TurnError {
  return { kind: "refused", message: `${model} refused to answer`, hint: "rephrase the task, or use another model with -m" };
}

export function answerTooLong(): TurnError {
  return { kind: "too-long", message: "the answer did not fit the model's output limit", hint: "ask for a shorter answer, or for a file" };
}

export function noAnswer(model: string): TurnError {
  return {
    kind: "broken",
    message: `${model} ended without an answer`,
    hint: `continue with \`${resumeCommand}\`, or try another model with -m`,
  };
}

export function schemaViolation(problem: string): TurnError {
  return {
    kind: "broken",
    message: `the answer does not satisfy the JSON schema: ${problem}`,
    hint: "say in the task what the JSON means, or use another model with -m",
  };
}

export function repeatedInvalidCalls(model: string): TurnError {
  return { kind: "broken", message: `${model} keeps sending tool calls that can't be run`, hint: "try another model with -m" };
}

/** The end of a turn that threw. After an abort every error counts as cancelled. */
export function endOf(error: unknown, signal: AbortSignal): TurnEnd {
  if (signal.aborted) return { status: "cancelled", error: { kind: "cancelled", message: "the turn was stopped" } };
  const turnError = toTurnError(error);
  return { status: turnError.kind, error: turnError };
}
