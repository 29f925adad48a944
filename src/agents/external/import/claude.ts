// Parses Claude Code's transcripts: one line per content block, linked by `parentUuid`. A rewound conversation branches.
// The results of parallel calls have different lines of one message as parents; here they become a sequence.
import type { Json } from "../../../kit/text/json.ts";
import { listAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { Part } from "../../../protocol/tree/node.ts";
import { zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";
import { addNode, type ParsedNode, findToolName, type ParsedTranscript, type TranscriptFormat } from "./parsed-node.ts";
import { callPart, compactionNode, contentParts, resultNode, thinkingParts, usageAt } from "./parts.ts";

export const claude: TranscriptFormat = { recognises, slim, parse };

function recognises(entry: Json): boolean {
  return "parentUuid" in entry && "sessionId" in entry && "uuid" in entry;
}

/** An entry that is not a message is reduced to its ids. Other entries may have it as their parent. */
function slim(entry: Json): Json | null {
  if (!("uuid" in entry)) return null;
  if (entry["type"] === "user" || entry["type"] === "assistant") return { ...entry, toolUseResult: undefined };
  const { uuid, parentUuid, logicalParentUuid, sessionId, isSidechain } = entry;
  return { uuid, parentUuid, logicalParentUuid, sessionId, isSidechain };
}

type State = {
  nodes: ParsedNode[];
  /** From the uuid of a line to the index of its node; null for a line before the first node. */
  nodeByLine: Map<string, number | null>;
  /** From the index of an agent node, or of a result of its calls, to the message. */
  messageByNode: Map<number, Message>;
  /** Index of the node that was added last. */
  last: number | null;
};

type Message = {
  id: string;
  /** Index of the agent node. */
  node: number;
  /** Index of the last result of its calls. The next node is added behind this result. */
  lastResult: number | null;
};

function parse(entries: Json[]): ParsedTranscript {
  const state: State = { nodes: [], nodeByLine: new Map(), messageByNode: new Map(), last: null };
  for (const entry of entries) {
    if (entry["isSidechain"] === true) continue;
    const nodeIndex = readEntry(state, entry, parentOf(state, entry));
    state.nodeByLine.set(textAt(entry, "uuid"), nodeIndex);
  }
  const nativeId = entries.map((entry) => textAt(entry, "sessionId")).find((id) => id !== "") ?? "";
  return { nativeId, nodes: state.nodes, tip: state.last };
}

/** A line whose parent could not be read continues the line before it. */
function parentOf(state: State, entry: Json): number | null {
  const uuid = textAt(entry, "parentUuid") || textAt(entry, "logicalParentUuid");
  if (uuid === "") return null;
  const nodeIndex = state.nodeByLine.get(uuid);
  return nodeIndex === undefined ? state.last : nodeIndex;
}

/** Returns the index of the entry's last node, or `parent` if the entry has no message. */
function readEntry(state: State, entry: Json, parent: number | null): number | null {
  const message = objectAt(entry, "message");
  if (message === undefined || entry["isMeta"] === true) return parent;
  return entry["type"] === "assistant" ? readAnswer(state, entry, message, parent) : readUser(state, entry, message, parent);
}

function readAnswer(state: State, entry: Json, message: Json, parent: number | null): number {
  const parts = claudeParts(message);
  const id = textAt(message, "id");
  const current = messageOf(state, parent);
  const model = textAt(message, "model");
  const usage = objectAt(message, "usage");
  if (current !== undefined && id !== "" && current.id === id) {
    const parsedNode = state.nodes[current.node]!;
    parsedNode.node.parts.push(...parts);
    parsedNode.key += ` ${textAt(entry, "uuid")}`;
    if (usage !== undefined) parsedNode.node.usage = claudeUsage(usage);
    return current.lastResult ?? current.node;
  }
  // Claude Code writes messages of its own, such as API errors, with the model `<synthetic>`.
  const hasRealModel = model !== "" && !model.startsWith("<");
  const nodeIndex = add(state, entry, parent, {
    author: "agent",
    parts,
    ...(hasRealModel ? { model: `anthropic/${model}` } : {}),
    ...(hasRealModel && usage !== undefined ? { usage: claudeUsage(usage), costUsd: null } : {}),
  });
  state.messageByNode.set(nodeIndex, { id, node: nodeIndex, lastResult: null });
  return nodeIndex;
}

/** The parts of an answer of Claude Code, in its transcript and on its stdout. */
export function claudeParts(message: Json | undefined): Part[] {
  return listAt(message, "content").flatMap((block): Part[] => {
    switch (block["type"]) {
      case "tool_use": {
        const malformed = objectAt(objectAt(block, "input"), "__unparsedToolInput");
        return [callPart(textAt(block, "id"), textAt(block, "name"), malformed?.["raw"] ?? block["input"])];
      }
      case "thinking":
        return thinkingParts(textAt(block, "thinking"));
      case "text":
        return contentParts([block]);
      default:
        return [];
    }
  });
}

function readUser(state: State, entry: Json, message: Json, parent: number | null): number | null {
  let last = parent;
  for (const [index, block] of listAt(message, "content").entries())
    if (block["type"] === "tool_result") last = addResult(state, entry, { block, key: `${textAt(entry, "uuid")}#${index}` }, last);
  const parts = contentParts(message["content"]);
  if (parts.length === 0) return last;
  return add(state, entry, last, entry["isCompactSummary"] === true ? compactionNode(parts) : { author: "user", parts });
}

function addResult(state: State, entry: Json, { block, key }: { block: Json; key: string }, parent: number | null): number {
  const message = messageOf(state, parent);
  const call = textAt(block, "tool_use_id");
  const name = findToolName(state.nodes, message?.node ?? parent, call);
  const node = resultNode({ call, name, content: block["content"], isError: block["is_error"] === true });
  const nodeIndex = add(state, entry, parent, node);
  state.nodes[nodeIndex]!.key = key;
  if (message !== undefined) {
    message.lastResult = nodeIndex;
    state.messageByNode.set(nodeIndex, message);
  }
  return nodeIndex;
}

/** The message of an agent node, or of the result of one of its calls. */
function messageOf(state: State, nodeIndex: number | null): Message | undefined {
  return nodeIndex === null ? undefined : state.messageByNode.get(nodeIndex);
}

/** Adds a node behind the last result of the message that `parent` belongs to. */
function add(state: State, entry: Json, parent: number | null, node: ParsedNode["node"]): number {
  const after = messageOf(state, parent)?.lastResult ?? parent;
  state.last = addNode(state.nodes, entry, { key: textAt(entry, "uuid"), parent: after, node });
  return state.last;
}

/** A count that is missing keeps its value in `before`. */
export function claudeUsage(usage: Json | undefined, before = zeroUsage): Usage {
  return usageAt(usage, ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"], before);
}
