// A path of the tree → the messages a model is sent. Pure, append-only: a longer path gives the same messages
// and more, so that vendors' caches keep hitting. A compaction node replaces what lies before its cut.
import type { Message } from "../../../models/model.ts";
import type { CallPart, Node, Part, ResultPart } from "../../../protocol/tree/node.ts";

export function renderMessages(path: Node[]): Message[] {
  const messages: Message[] = [];
  for (const node of visibleNodes(path)) {
    if (node.note !== undefined && ["below", "group", "team"].includes(node.note.about)) continue;
    const role = roleOf(node);
    const last = messages.at(-1);
    if (role !== "tool") settleCalls(messages);
    if (role === "tool" && last?.role === "tool") last.parts.push(...node.parts);
    else messages.push({ role, parts: [...node.parts] });
  }
  settleCalls(messages);
  return messages.filter((message) => message.parts.length > 0);
}

/** What is left of a path after its last compaction: every user message, the summary, and what it kept. */
export function visibleNodes(path: Node[]): Node[] {
  const at = path.findLastIndex((node) => node.note?.about === "compaction");
  const compaction = path[at];
  if (compaction?.note?.about !== "compaction") return path;
  const keptFrom = compaction.note.keptFrom;
  const cut = keptFrom === null ? at : path.findIndex((node) => node.id === keptFrom);
  const older = path.slice(0, cut).filter((node) => node.author === "user");
  const kept = path.slice(cut, at).filter((node) => node.note?.about !== "compaction");
  return [...older, compaction, ...kept, ...path.slice(at + 1)];
}

function roleOf(node: Node): Message["role"] {
  if (node.author === "agent") return "assistant";
  return node.author === "tool" ? "tool" : "user";
}

/** Orders the results after the last assistant message by its calls, and answers the calls that have none. */
function settleCalls(messages: Message[]): void {
  const at = messages.findLastIndex((message) => message.role === "assistant");
  const assistant = messages[at];
  if (assistant === undefined) return;
  const calls = assistant.parts.filter((part): part is CallPart => part.kind === "call");
  if (calls.length === 0) return;
  const following = messages[at + 1];
  if (following !== undefined && following.role !== "tool") return;
  const results = (following?.parts ?? []).filter((part): part is ResultPart => part.kind === "result");
  const ordered: Part[] = calls.map((call) => results.find((result) => result.call === call.id) ?? missingResult(call));
  if (following === undefined) messages.push({ role: "tool", parts: ordered });
  else following.parts = ordered;
}

function missingResult(call: CallPart): ResultPart {
  return {
    kind: "result",
    call: call.id,
    name: call.name,
    text: "No result: the conversation went on from here before this call was answered. Its effects are unknown.",
    isError: true,
  };
}
