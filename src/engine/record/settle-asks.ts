// Settles the questions of a session's last turn before the next turn. An answer becomes the result of its call.
// An unanswered question is closed by a new prompt; resuming without an answer is refused.
import { Fault } from "../../protocol/api/error.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { shortId, type CallPart, type NewNode } from "../../protocol/tree/node.ts";
import type { Store } from "../../store/store.ts";
import type { Recorder } from "./recorder.ts";
import { unansweredCalls } from "./recover.ts";

/** Whether the next turn has a new prompt, or resumes the interrupted one. */
type ContinueMode = "new-prompt" | "resume";

/**
 * Returns the answers to questions without a call. An external CLI asked them, and gets the answers as a prompt.
 * Null if there was no question to settle.
 */
export async function settleAsks(store: Store, recorder: Recorder, session: string, mode: ContinueMode): Promise<string[] | null> {
  const calls = await askingCalls(store, session);
  const asks = await asksWithoutCall(store, session);
  const open = [...calls.map(({ ask }) => ask), ...asks].find(isOpen);
  if (mode === "resume" && open !== undefined) throw stillOpen(open);
  const unanswered = mode === "resume" ? [] : (await store.asks(session)).filter(isOpen);
  for (const ask of unanswered) await recorder.closeAsk(ask.id, { outcome: "left" });
  for (const { call, ask } of calls) await recorder.addNode(resultOf(call, ask), null);
  const answers = asks.flatMap(({ question, answer }) => (answer === null ? [] : [asks.length === 1 ? answer : `${question} ${answer}`]));
  return calls.length === 0 && answers.length === 0 ? null : answers;
}

/** Calls at the end of the path that asked a question. A fork has the questions of its original session. */
async function askingCalls(store: Store, session: string): Promise<{ call: CallPart; ask: Ask }[]> {
  const path = await store.sessionPathEnd(session);
  const askingNode = path.findLast((node) => node.author === "agent");
  const calls = unansweredCalls(path);
  if (askingNode === undefined || calls.length === 0) return [];
  const asks = (await store.asks(askingNode.session)).filter((ask) => ask.turn === askingNode.turn);
  return calls.flatMap((call) => asks.filter((ask) => ask.call === call.id).map((ask) => ({ call, ask })));
}

/** Questions without a call, from the last turn that had a prompt. Most sessions have none, and long ones have many turns. */
async function asksWithoutCall(store: Store, session: string): Promise<Ask[]> {
  const asks = (await store.asks(session)).filter((ask) => ask.call === null);
  if (asks.length === 0) return [];
  const lastTurn = (await store.turnsOf(session)).findLast(({ agent }) => !["shell", "group", "team", "race"].includes(agent));
  return asks.filter((ask) => ask.turn === lastTurn?.id);
}

function resultOf(call: CallPart, { answer, outcome }: Ask): NewNode {
  const text = answer ?? (outcome === "expired" ? "Nobody answered in time." : "The user continued without answering.");
  return { author: "tool", parts: [{ kind: "result", call: call.id, name: call.name, text, isError: answer === null }] };
}

function isOpen({ closedAt }: Ask): boolean {
  return closedAt === null;
}

function stillOpen({ id, question }: Ask): Fault {
  return new Fault("usage", `a question waits for an answer: ${question}`, {
    hint: `skein answer ${shortId(id)} "…", or give a task to continue without an answer`,
  });
}
