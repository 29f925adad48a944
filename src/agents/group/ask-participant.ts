// One participant is asked, in a sub-session of its own, and once or twice more where that can help. It may fail: that is
// an outcome like any other. Only what stops the whole turn is told apart.
import { sleep } from "../../kit/flow/sleep.ts";
import { Fault, messageOf, turnStatuses, type TurnError, type TurnStatus } from "../../protocol/api/error.ts";
import type { ParticipantStatus } from "../../protocol/team/group.ts";
import type { DelegateRequest, DelegateResult, TurnContext } from "../../protocol/api/ports.ts";
import { addSpent, zeroSpent, type Spent } from "../../protocol/tree/usage.ts";
import type { Participant } from "./participants.ts";

const mostTries = 3;

/** What would be the same a moment later. */
const lasting: readonly ParticipantStatus[] = [
  "auth",
  "not-installed",
  "sandbox-unavailable",
  "needs-input",
  "too-long",
  "cancelled",
  "budget",
];

export type ParticipantReply = { status: ParticipantStatus; text: string; tries: number; sessionId: string | null; spent: Spent };

/** The turn is over: it was stopped, or its budget is used up. */
export type TurnHalt = { halt: TurnError };

export type ParticipantQuestion = Pick<DelegateRequest, "task" | "title" | "call">;

export async function askParticipant(
  participant: Participant,
  question: ParticipantQuestion,
  context: TurnContext,
  retryAfterMs: number,
): Promise<ParticipantReply | TurnHalt> {
  let spent = zeroSpent;
  for (let tries = 1; ; tries += 1) {
    const once = await tryOnce(participant, question, context);
    spent = addSpent(spent, once.spent);
    const { status, text, sessionId } = once;
    const over = status === "ok" ? null : haltedBy(once, context);
    if (over !== null) return { halt: over };
    if (status === "ok" || tries === mostTries || lasting.includes(status)) return { status, text, tries, sessionId, spent };
    await sleep(retryAfterMs, context.signal);
  }
}

/** A participant can reach a limit of its own; only one of the whole run stops the others. */
function haltedBy({ over }: Attempt, { signal, count }: TurnContext): TurnError | null {
  if (signal.aborted) return { kind: "cancelled", message: "the group was stopped" };
  return over ?? count(zeroSpent);
}

type Attempt = Omit<ParticipantReply, "tries"> & { over?: TurnError };

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
      onEvent: () => {},
    });
    return { ...heard(result), sessionId: result.session, spent: result.spent };
  } catch (error) {
    const began = { sessionId: null, spent: zeroSpent };
    const over = error instanceof Fault ? (error.cause as TurnError | undefined) : undefined;
    if (over?.kind === "budget") return { status: "budget", text: over.message, ...began, over };
    return { status: statusOf(error), text: messageOf(error), ...began };
  }
}

function heard({ status, answer, error }: DelegateResult): Pick<Attempt, "status" | "text"> {
  if (status !== "ok") return { status, text: error?.message ?? status };
  return answer.trim() === "" ? { status: "empty", text: "it answered with nothing" } : { status, text: answer };
}

/** How a turn would have ended that could not begin. */
function statusOf(error: unknown): TurnStatus {
  const code = error instanceof Fault ? error.code : "";
  return turnStatuses.find((status) => status === code) ?? "broken";
}
