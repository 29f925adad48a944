// Asks the user a question on behalf of a running turn, and waits for the answer if the turn may wait.
// src/engine/control/asks.ts lists and answers questions.
import { startCountdown } from "../../kit/flow/countdown.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { AskOutcome, AskRequest } from "../../protocol/api/ports.ts";
import type { RunningTurn } from "./running-turns.ts";

export async function askPerson(turn: RunningTurn, request: AskRequest): Promise<AskOutcome> {
  const { asks } = turn.params;
  if (asks.how === "none") throw new Fault("usage", "this turn can't ask questions");
  // An external CLI can't receive an answer in the middle of its turn.
  if (asks.how === "later" || request.call === null)
    return { type: "later", ask: (await turn.recorder.openAsk({ ...request, expiresAt: null })).id };
  const expiresAt = asks.limitMs === null ? null : Date.now() + asks.limitMs;
  const ask = await turn.recorder.openAsk({ ...request, expiresAt });
  const resumeIdle = turn.deadline.holdIdle();
  try {
    const answer = (await waitForAnswer(turn, ask.id, asks.limitMs)) ?? (await expireAsk(turn, ask.id));
    return answer === null ? { type: "expired" } : { type: "answered", text: answer };
  } finally {
    resumeIdle();
    if (turn.asking.size === 0 && !turn.gate.isPaused) await turn.recorder.setState("running");
  }
}

/** Returns an answer that was stored at the last moment, else null. */
async function expireAsk({ recorder, store, deadline }: RunningTurn, ask: string): Promise<string | null> {
  try {
    await recorder.closeAsk(ask, { outcome: deadline.signal.aborted ? "left" : "expired" });
    return null;
  } catch (error) {
    if (error instanceof Fault && error.code === "ask-closed") return (await store.findAsk(ask)).answer;
    throw error;
  }
}

/** Resolves to null when the time is over or the turn was stopped. */
async function waitForAnswer(turn: RunningTurn, ask: string, limitMs: number | null): Promise<string | null> {
  const { asking, deadline, recorder, store } = turn;
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const stop = (): void => resolve(null);
  const limit = startCountdown(limitMs, stop, turn.clock);
  const removeFromGate = turn.gate.add(limit);
  deadline.signal.addEventListener("abort", stop, { once: true });
  if (deadline.signal.aborted) stop();
  asking.set(ask, resolve);
  try {
    if (!turn.gate.isPaused) await recorder.setState("asking");
    // The answer may have been stored before `asking` had this question.
    const { answer } = await store.findAsk(ask);
    return answer ?? (await promise);
  } finally {
    limit.clear();
    removeFromGate();
    deadline.signal.removeEventListener("abort", stop);
    asking.delete(ask);
  }
}
