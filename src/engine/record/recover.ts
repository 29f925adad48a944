// Repairs the turn of a killed process under the lease, before the next turn of the session. Its drafts become nodes, and
// the model learns that the running call was interrupted. A question stays open and can still be answered.
import { resumeCommand, withResumeHint } from "../../protocol/api/error.ts";
import { callsOf, type CallPart, type NewNode, type Node, type Part } from "../../protocol/tree/node.ts";
import type { InterruptedTurn } from "../../protocol/schema/results.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import type { Draft, Store } from "../../store/store.ts";
import type { Recorder } from "./recorder.ts";

export async function recover(store: Store, recorder: Recorder, session: string): Promise<void> {
  for (const turn of await store.openTurns(session)) await closeKilledTurn(store, recorder, session, turn);
}

/** The turns of killed processes, with the text that they had streamed. Reads only. */
export async function interruptedTurns(store: Store, sessions: Session[], turns: Turn[]): Promise<InterruptedTurn[]> {
  const interrupted: InterruptedTurn[] = [];
  for (const { id: turn, session, endedAt } of turns) {
    if (endedAt !== null || (await store.holder(session)) !== null) continue;
    const parent = sessions.find(({ id }) => id === session)?.tip ?? null;
    interrupted.push({ session, turn, parent, drafts: await store.drafts(turn) });
  }
  return interrupted;
}

async function closeKilledTurn(store: Store, recorder: Recorder, session: string, turn: Turn): Promise<void> {
  const drafts = await store.drafts(turn.id);
  const path = await store.sessionPathEnd(session);
  const answer = partialAnswer(drafts);
  if (answer !== null) {
    await recorder.addNode(answer, turn.id);
    await recorder.addNode(interruption("[skein was killed while you were answering; the answer above is incomplete. Continue.]"), turn.id);
  }
  const askingCalls = (await store.asks(session)).flatMap((ask) => (ask.turn === turn.id ? (ask.call ?? []) : []));
  for (const call of unansweredCalls(path))
    if (!askingCalls.includes(call.id)) await recorder.addNode(interruptedResult(call, drafts), turn.id);
  const hint = `continue with \`${resumeCommand}\``;
  const error = withResumeHint({ kind: "killed", message: "skein was killed during this turn", hint }, session);
  const { nativeId, enforced } = turn;
  await recorder.endTurn({ status: "killed", error, nativeId, enforced, isInterrupted: "killed" }, turn.id);
}

function partialAnswer(drafts: Draft[]): NewNode | null {
  const parts: Part[] = [];
  const thinking = drafts.find((draft) => draft.key === "thinking")?.text ?? "";
  const text = drafts.find((draft) => draft.key === "text")?.text ?? "";
  if (thinking !== "") parts.push({ kind: "thinking", text: thinking });
  if (text !== "") parts.push({ kind: "text", text });
  return parts.length === 0 ? null : { author: "agent", parts };
}

/** The first node of a resumed turn, so that its request does not end with a partial answer. Null if none is needed. */
export function continuation(tip: Node | null): NewNode | null {
  if (tip === null || tip.author !== "agent" || callsOf(tip).length > 0) return null;
  return interruption("[The turn was stopped here; the answer above may be incomplete. Continue.]");
}

function interruption(text: string): NewNode {
  return { author: "note", note: { about: "interruption" }, parts: [{ kind: "text", text }] };
}

/** The calls of the last agent node that no tool node answers. */
export function unansweredCalls(path: Node[]): CallPart[] {
  const index = path.findLastIndex((node) => node.author === "agent");
  const lastAnswer = path[index];
  if (lastAnswer === undefined || path.slice(index + 1).some((node) => node.author === "user")) return [];
  const answered = new Set(path.slice(index + 1).flatMap((node) => node.parts.map((part) => (part.kind === "result" ? part.call : ""))));
  return callsOf(lastAnswer).filter((call) => !answered.has(call.id));
}

function interruptedResult(call: CallPart, drafts: Draft[]): NewNode {
  const printed = drafts.find((draft) => draft.key === call.id)?.text ?? "";
  const output = printed === "" ? "It had printed nothing." : `It had printed:\n${printed}`;
  const text = `Interrupted: skein was killed while this call was running. Its state is unknown: it may have run in whole, in part or not at all. ${output}`;
  return { author: "tool", parts: [{ kind: "result", call: call.id, name: call.name, text, isError: true }] };
}
