// Renders a path of the tree as messages for a model. Pure and append-only: a longer path renders to the same messages and more,
// so that the vendor's prompt cache keeps hitting. A compaction node replaces the nodes before its cut.
import type { Message } from "../../../models/model.ts";
import { type CallPart, isShownOnly, type Node, type Part, type ResultPart } from "../../../protocol/tree/node.ts";

export function renderMessages(path: Node[]): Message[] {
  return createMessageRenderer()(path);
}

/**
 * Renders the path of each request of a turn. A path that continues the last one costs only its new nodes: the messages before
 * its last answer are the same objects as before.
 */
export function createMessageRenderer(): (path: Node[]) => Message[] {
  let renderedCount = 0;
  let lastNode: Node | undefined;
  let finished: Message[] = [];
  /** The last answer and the nodes after it. */
  let step: Node[] = [];
  return (path) => {
    const newNodes = path.slice(renderedCount);
    const isContinued = lastNode !== undefined && path[renderedCount - 1] === lastNode && findCompaction(newNodes) === null;
    if (!isContinued) [finished, step] = [[], []];
    for (const node of isContinued ? newNodes : visibleNodes(path)) {
      if (node.note !== undefined && isShownOnly(node.note)) continue;
      if (roleOf(node) === "assistant") {
        finished.push(...renderStep(step));
        step = [];
      }
      step.push(node);
    }
    renderedCount = path.length;
    lastNode = path.at(-1);
    return [...finished, ...renderStep(step)];
  };
}

/** Renders nodes of which at most the first one is an answer. */
function renderStep(nodes: Node[]): Message[] {
  const messages: Message[] = [];
  for (const node of nodes) {
    const role = roleOf(node);
    const last = messages.at(-1);
    if (role !== "tool") settleCalls(messages);
    if (role === "tool" && last?.role === "tool") last.parts.push(...node.parts);
    else messages.push({ role, parts: [...node.parts] });
  }
  settleCalls(messages);
  return messages.filter((message) => message.parts.length > 0);
}

/** The path as the model sees it after the last compaction: all user messages, the summary, the retained and newer nodes. */
export function visibleNodes(path: Node[]): Node[] {
  const compaction = findCompaction(path);
  if (compaction === null) return path;
  const { index, keptIndex } = compaction;
  const older = path.slice(0, keptIndex).filter((node) => node.author === "user");
  const retained = path.slice(keptIndex, index).filter((node) => node.note?.about !== "compaction");
  return [...older, path[index]!, ...retained, ...path.slice(index + 1)];
}

/** The index of the last compaction, and of the first node that it retained (its own if it retained none). */
export function findCompaction(path: Node[]): { index: number; keptIndex: number } | null {
  const index = path.findLastIndex((node) => node.note?.about === "compaction");
  const note = path[index]?.note;
  if (note?.about !== "compaction") return null;
  return { index, keptIndex: note.keptFrom === null ? index : path.findIndex((node) => node.id === note.keptFrom) };
}

function roleOf(node: Node): Message["role"] {
  if (node.author === "agent") return "assistant";
  return node.author === "tool" ? "tool" : "user";
}

/** Puts the results after the last assistant message in the order of its calls, and adds the missing ones. */
function settleCalls(messages: Message[]): void {
  const index = messages.findLastIndex((message) => message.role === "assistant");
  const assistant = messages[index];
  if (assistant === undefined) return;
  const calls = assistant.parts.filter((part): part is CallPart => part.kind === "call");
  if (calls.length === 0) return;
  const following = messages[index + 1];
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
    text: "No result: the conversation continued from here before this call was answered. Its effects are unknown.",
    isError: true,
  };
}
