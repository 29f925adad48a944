// The first node of a turn: its prompt, or the continuation of an interrupted turn, which is repaired before.
import type { TurnStartParams } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { TurnOptions } from "../../protocol/api/turn-options.ts";
import type { NewNode } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import { continuation, recover } from "../record/recover.ts";
import { settleAsks } from "../record/settle-asks.ts";
import type { TurnRequest } from "./run-turn.ts";
import type { RunningTurn } from "./running-turns.ts";

/** The agent that coordinates several others for this task; null for an ordinary turn. */
export function multiAgentName({ group, team, race }: Pick<TurnOptions, "group" | "team" | "race">): "group" | "team" | "race" | null {
  return group !== null ? "group" : team !== null ? "team" : race !== null ? "race" : null;
}

/** The agents `shell`, `group`, `team` and `race` record their task themselves. */
export function hasNoPrompt(params: TurnStartParams): boolean {
  return params.command !== null || multiAgentName(params) !== null;
}

/** A race that was interrupted continues as a race, also if the request names none. */
export async function continueRace(store: Store, params: TurnRequest): Promise<TurnRequest> {
  if (params.prompt !== null || hasNoPrompt(params)) return params;
  const lastTurn = (await store.turnsOf(params.session)).at(-1);
  return lastTurn?.agent === "race" && lastTurn.status !== "ok" ? { ...params, race: { work: "resume" } } : params;
}

/** Repairs an interrupted turn and settles its questions. Returns the first node of the new turn. */
export async function recoverAndPrompt({ params, store, recorder }: RunningTurn, session: Session): Promise<NewNode | null> {
  await recover(store, recorder, session.id);
  const isResuming = params.prompt === null && !hasNoPrompt(params);
  // A session without a node has no questions.
  const answers = session.tip === null ? null : await settleAsks(store, recorder, session.id, isResuming ? "resume" : "new-prompt");
  if (isResuming && answers === null) await checkResumable(store, session);
  return firstNode(store, params, answers ?? []);
}

/** Returns the node with the prompt. Answers that no tool call waits for precede the prompt, or replace it. */
async function firstNode(store: Store, params: TurnRequest, answers: string[]): Promise<NewNode | null> {
  if (hasNoPrompt(params)) return null;
  if (params.handOver !== undefined) return params.handOver.note;
  const texts = [...answers, ...(params.prompt === null ? [] : [params.prompt])];
  if (texts.length === 0) {
    const { tip } = await store.requireSession(params.session);
    return continuation(tip === null ? null : await store.node(tip));
  }
  const images = params.images.map((image) => ({ kind: "image" as const, ...image }));
  return { author: "user", parts: [{ kind: "text", text: texts.join("\n\n") }, ...images] };
}

async function checkResumable(store: Store, session: Session): Promise<void> {
  const lastTurn = (await store.turnsOf(session.id)).at(-1);
  if (lastTurn !== undefined && lastTurn.status !== "ok") return;
  throw new Fault("usage", "there is no interrupted turn to continue", { hint: 'give a task: skein run --resume <session> "task"' });
}
