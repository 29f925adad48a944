// Questions to a person: opened by a turn, answered from any door, closed once. No answer is invented.
import { countdown } from "../../kit/flow/countdown.ts";
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { AskOutcome, AskRequest } from "../../protocol/api/ports.ts";
import type { EngineDeps } from "../engine.ts";
import type { RunningTurn } from "../turn/running-turns.ts";
import { callOwner } from "./owner.ts";
import { withLease } from "../tree/tree-ops.ts";

export async function askPerson(turn: RunningTurn, request: AskRequest): Promise<AskOutcome> {
  const { asks } = turn.params;
  if (asks.how === "none") throw new Fault("usage", "nobody can be asked here");
  // Another agent's command line can't be told in the middle of its turn.
  if (asks.how === "later" || request.call === null)
    return { type: "later", ask: (await turn.recorder.openAsk({ ...request, expiresAt: null })).id };
  const expiresAt = asks.limitMs === null ? null : Date.now() + asks.limitMs;
  const ask = await turn.recorder.openAsk({ ...request, expiresAt });
  const release = turn.deadline.holdIdle();
  try {
    const answer = (await waitForAnswer(turn, ask.id, asks.limitMs)) ?? (await expireAsk(turn, ask.id));
    return answer === null ? { type: "expired" } : { type: "answered", text: answer };
  } finally {
    release();
    if (turn.asking.size === 0 && !turn.gate.isPaused) await turn.recorder.setState("running");
  }
}

/** An answer that came at the last moment counts. */
async function expireAsk({ recorder, store, deadline }: RunningTurn, ask: string): Promise<string | null> {
  try {
    await recorder.closeAsk(ask, { outcome: deadline.signal.aborted ? "left" : "expired" });
    return null;
  } catch (error) {
    if (error instanceof Fault && error.code === "ask-closed") return (await store.findAsk(ask)).answer;
    throw error;
  }
}

/** Null when the time is over or the turn was stopped. */
async function waitForAnswer(turn: RunningTurn, ask: string, limitMs: number | null): Promise<string | null> {
  const { asking, deadline, recorder, store } = turn;
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const stop = (): void => resolve(null);
  const clock = countdown(limitMs, stop, turn.clock);
  const leaveGate = turn.gate.add(clock);
  deadline.signal.addEventListener("abort", stop, { once: true });
  if (deadline.signal.aborted) stop();
  asking.set(ask, resolve);
  try {
    if (!turn.gate.isPaused) await recorder.setState("asking");
    // Whoever saw the question may have answered before anyone waited here.
    const { answer } = await store.findAsk(ask);
    return answer ?? (await promise);
  } finally {
    clock.clear();
    leaveGate();
    deadline.signal.removeEventListener("abort", stop);
    asking.delete(ask);
  }
}

export async function listAsks(deps: EngineDeps, { session }: Parameters<Api["ask"]["list"]>[0]): Promise<Ask[]> {
  if (!deps.hasStore()) return [];
  return (await (await deps.store()).asks(session)).filter((ask) => ask.closedAt === null);
}

export async function answerAsk(deps: EngineDeps, params: Parameters<Api["ask"]["answer"]>[0]): Promise<Ask> {
  if (!deps.hasStore())
    throw new Fault("ask-unknown", `There is no question "${params.ask}".`, { hint: "`skein asks` lists those without an answer." });
  const ask = await (await deps.store()).findAsk(params.ask);
  if (ask.closedAt !== null) throw new Fault("ask-closed", `the question ${params.ask} was closed before`);
  const answer = chosenOption(ask, params.text);
  return callOwner(deps, ask.session, {
    local: async (turn) => {
      const closed = await turn.recorder.closeAsk(ask.id, { outcome: "answered", answer });
      turn.asking.get(ask.id)?.(answer);
      return closed;
    },
    remote: (api) => api.ask.answer({ ask: ask.id, text: answer }),
    idle: () => withLease(deps, ask.session, (_store, recorder) => recorder.closeAsk(ask.id, { outcome: "answered", answer })),
  });
}

function chosenOption({ options }: Ask, text: string): string {
  const given = text.trim();
  if (given === "") throw new Fault("usage", "the answer is empty");
  return /^\d+$/.test(given) ? (options[Number(given) - 1] ?? given) : text;
}
