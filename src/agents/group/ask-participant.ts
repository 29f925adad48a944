// Asks one participant in its own sub-session, up to three times. A failure of the participant is a normal result. Only a
// cancelled turn or a used-up budget stops the whole group.
import { sleep } from "../../kit/flow/sleep.ts";
import type { TurnError } from "../../protocol/api/error.ts";
import type { ParticipantStatus } from "../../protocol/team/group.ts";
import type { DelegateRequest, DelegateResult, TurnContext } from "../../protocol/api/ports.ts";
import { addSpent, zeroSpent, type Spent } from "../../protocol/tree/usage.ts";
import { permanentStatuses, toTurnError } from "../delegate-failure.ts";
import type { Participant } from "./participants.ts";

const maxTries = 3;

export type ParticipantReply = { status: ParticipantStatus; text: string; tries: number; sessionId: string | null; spent: Spent };

/** The reason to stop the whole turn: the turn was cancelled, or its budget is used up. */
export type TurnHalt = { halt: TurnError };

export type ParticipantQuestion = Pick<DelegateRequest, "task" | "title" | "call" | "limits">;

export async function askParticipant(
  participant: Participant,
  question: ParticipantQuestion,
  context: TurnContext,
  retryAfterMs: number,
): Promise<ParticipantReply | TurnHalt> {
  let spent = zeroSpent;
  for (let tries = 1; ; tries += 1) {
    const attempt = await tryOnce(participant, question, context);
    spent = addSpent(spent, attempt.spent);
    const { status, text, sessionId } = attempt;
    const halt = status === "ok" ? null : findHalt(attempt, context);
    if (halt !== null) return { halt };
    const isFinal = status === "ok" || tries === maxTries || permanentStatuses.some((permanent) => permanent === status);
    if (isFinal) return { status, text, tries, sessionId, spent };
    await sleep(retryAfterMs, context.signal);
  }
}

/** Returns the error that stops the whole group; null after a failure of only this participant, such as its own limit. */
function findHalt({ halt }: Attempt, { signal, count }: TurnContext): TurnError | null {
  if (signal.aborted) return { kind: "cancelled", message: "the group was stopped" };
  // Counting nothing returns the error of a budget that is already used up.
  return halt ?? count(zeroSpent);
}

type Attempt = Omit<ParticipantReply, "tries"> & { halt?: TurnError };

async function tryOnce({ agent, model, isModel }: Participant, question: ParticipantQuestion, context: TurnContext): Promise<Attempt> {
  try {
    const result = await context.delegate({
      ...question,
      agent,
      model,
      role: null,
      attachable: false,
      sandbox: isModel ? {} : { readonly: true },
      ...(isModel ? { toolLevel: "none" as const } : {}),
      signal: context.signal,
    });
    return { ...replyOf(result), sessionId: result.session, spent: result.spent };
  } catch (error) {
    const problem = toTurnError(error);
    const halt = problem.kind === "budget" ? { halt: problem } : {};
    return { status: problem.kind, text: problem.message, sessionId: null, spent: zeroSpent, ...halt };
  }
}

function replyOf({ status, answer, error }: DelegateResult): Pick<Attempt, "status" | "text"> {
  if (status !== "ok") return { status, text: error?.message ?? status };
  return answer.trim() === "" ? { status: "empty", text: "its answer is empty" } : { status, text: answer };
}
