// Before a session goes on: what became of the questions that its last turn left. An answer is handed on, a question
// that was passed over is closed, and a turn that would go on without an answer is refused.
import { Fault } from "../../protocol/api/error.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { shortId, type CallPart, type NewNode } from "../../protocol/tree/node.ts";
import type { Store } from "../../store/store.ts";
import type { Recorder } from "./recorder.ts";
import { unansweredCalls } from "./recover.ts";

/** How the session goes on: with something new, or with what there is. */
type ContinueMode = "anew" | "on";

/**
 * Gives back the answers that no call waits for: another agent's command line asked, and is told them as a prompt.
 * Null when there was no question to settle.
 */
export async function settleAsks(store: Store, recorder: Recorder, session: string, how: ContinueMode): Promise<string[] | null> {
  const called = await openCalls(store, session);
  const said = await lastAsks(store, session);
  const open = [...called.map(({ ask }) => ask), ...said].find(isOpen);
  if (how === "on" && open !== undefined) throw stillOpen(open);
  const passedOver = how === "on" ? [] : (await store.asks(session)).filter(isOpen);
  for (const ask of passedOver) await recorder.closeAsk(ask.id, { outcome: "left" });
  for (const { call, ask } of called) await recorder.addNode(resultOf(call, ask), null);
  const answers = said.flatMap(({ question, answer }) => (answer === null ? [] : [said.length === 1 ? answer : `${question} ${answer}`]));
  return called.length === 0 && answers.length === 0 ? null : answers;
}

/** Calls at the end of the path that asked, also when another session asked and this one was forked from it. */
async function openCalls(store: Store, session: string): Promise<{ call: CallPart; ask: Ask }[]> {
  const tip = (await store.session(session))?.tip ?? null;
  const path = tip === null ? [] : await store.path(tip);
  const asking = path.findLast((node) => node.author === "agent");
  const calls = unansweredCalls(path);
  if (asking === undefined || calls.length === 0) return [];
  const asks = (await store.asks(asking.session)).filter((ask) => ask.turn === asking.turn);
  return calls.flatMap((call) => asks.filter((ask) => ask.call === call.id).map((ask) => ({ call, ask })));
}

/** Questions without a call, of the last turn that took a prompt. */
async function lastAsks(store: Store, session: string): Promise<Ask[]> {
  const last = (await store.turnsOf(session)).findLast(({ agent }) => !["shell", "group", "team"].includes(agent));
  return (await store.asks(session)).filter((ask) => ask.call === null && ask.turn === last?.id);
}

function resultOf(call: CallPart, { answer, outcome }: Ask): NewNode {
  const text = answer ?? (outcome === "expired" ? "Nobody answered in time." : "The person went on without answering.");
  return { author: "tool", parts: [{ kind: "result", call: call.id, name: call.name, text, isError: answer === null }] };
}

function isOpen({ closedAt }: Ask): boolean {
  return closedAt === null;
}

function stillOpen({ id, question }: Ask): Fault {
  return new Fault("usage", `a question waits for an answer: ${question}`, {
    hint: `skein answer ${shortId(id)} "…", or give a task to go on without one`,
  });
}
