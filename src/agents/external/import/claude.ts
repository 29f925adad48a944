// Parses Claude Code's transcripts: one line per content block, linked by `parentUuid`. A rewound conversation branches.
// The results of parallel calls have different lines of one message as parents; here they become a sequence.
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { listAt, numberAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { Part } from "../../../protocol/tree/node.ts";
import { zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";
import {
  callPart,
  contentParts,
  type DraftNode,
  type TranscriptFormat,
  type ParsedTranscript,
  resultNode,
  thinkingParts,
  timeOf,
  findToolName,
} from "./draft-node.ts";

export const claude: TranscriptFormat = { recognises, slim, parse };

function recognises(entry: Json): boolean {
  return "parentUuid" in entry && "sessionId" in entry && "uuid" in entry;
}

/** Entries that are no message keep only their links. */
function slim(entry: Json): Json | null {
  if (!("uuid" in entry)) return null;
  if (entry["type"] === "user" || entry["type"] === "assistant") return { ...entry, toolUseResult: undefined };
  const { uuid, parentUuid, logicalParentUuid, sessionId, isSidechain } = entry;
  return { uuid, parentUuid, logicalParentUuid, sessionId, isSidechain };
}

type State = {
  drafts: DraftNode[];
  /** The draft of each line, by uuid; null is before the first draft. */
  draftByLine: Map<string, number | null>;
  /** The message id and the last result of each agent draft. */
  messages: Map<number, { id: string; results: number | null }>;
  /** The agent draft of each result draft. */
  owners: Map<number, number>;
  last: number | null;
};

function parse(entries: Json[]): ParsedTranscript {
  const state: State = { drafts: [], draftByLine: new Map(), messages: new Map(), owners: new Map(), last: null };
  for (const entry of entries) {
    if (entry["isSidechain"] === true) continue;
    const draft = readEntry(state, entry, parentOf(state, entry));
    state.draftByLine.set(textAt(entry, "uuid"), draft);
  }
  const nativeId = entries.map((entry) => textAt(entry, "sessionId")).find((id) => id !== "") ?? "";
  return { nativeId, drafts: state.drafts, tip: state.last };
}

/** A line whose parent could not be read continues the line before it. */
function parentOf(state: State, entry: Json): number | null {
  const uuid = textAt(entry, "parentUuid") || textAt(entry, "logicalParentUuid");
  if (uuid === "") return null;
  const draft = state.draftByLine.get(uuid);
  return draft === undefined ? state.last : draft;
}

function readEntry(state: State, entry: Json, parent: number | null): number | null {
  const message = objectAt(entry, "message");
  if (message === undefined || entry["isMeta"] === true) return parent;
  return entry["type"] === "assistant" ? readAnswer(state, entry, message, parent) : readUser(state, entry, message, parent);
}

function readAnswer(state: State, entry: Json, message: Json, parent: number | null): number {
  const parts = claudeParts(message);
  const id = textAt(message, "id");
  const open = parent === null ? null : (state.owners.get(parent) ?? parent);
  const current = open === null ? undefined : state.messages.get(open);
  const model = textAt(message, "model");
  const usage = objectAt(message, "usage");
  if (open !== null && current !== undefined && id !== "" && current.id === id) {
    const draft = state.drafts[open]!;
    draft.node.parts.push(...parts);
    draft.key += ` ${textAt(entry, "uuid")}`;
    if (usage !== undefined) draft.node.usage = claudeUsage(usage);
    return current.results ?? open;
  }
  const isModel = model !== "" && !model.startsWith("<");
  const index = add(state, entry, afterResults(state, parent), {
    author: "agent",
    parts,
    ...(isModel ? { model: `anthropic/${model}` } : {}),
    ...(isModel && usage !== undefined ? { usage: claudeUsage(usage), costUsd: null } : {}),
  });
  state.messages.set(index, { id, results: null });
  return index;
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
  const content = message["content"];
  let last = parent;
  for (const [index, block] of (Array.isArray(content) ? content.filter(isRecord) : []).entries()) {
    if (textAt(block, "type") === "tool_result") last = addResult(state, entry, { block, key: `${textAt(entry, "uuid")}#${index}` }, last);
  }
  const parts = contentParts(content);
  if (parts.length === 0) return last;
  if (entry["isCompactSummary"] === true) {
    return add(state, entry, afterResults(state, last), { author: "note", parts, note: { about: "compaction", keptFrom: null } });
  }
  return add(state, entry, afterResults(state, last), { author: "user", parts });
}

function addResult(state: State, entry: Json, { block, key }: { block: Json; key: string }, parent: number | null): number {
  const owner = parent === null ? null : (state.owners.get(parent) ?? parent);
  const call = textAt(block, "tool_use_id");
  const name = findToolName(state.drafts, owner, call);
  const node = resultNode({ call, name, content: block["content"], isError: block["is_error"] === true });
  const index = add(state, entry, afterResults(state, parent), node);
  state.drafts[index]!.key = key;
  const message = owner === null ? undefined : state.messages.get(owner);
  if (owner !== null && message !== undefined) {
    message.results = index;
    state.owners.set(index, owner);
  }
  return index;
}

/** The last result of a message is the parent of everything that follows the message or one of its results. */
function afterResults(state: State, parent: number | null): number | null {
  if (parent === null) return null;
  return state.messages.get(state.owners.get(parent) ?? parent)?.results ?? parent;
}

function add(state: State, entry: Json, parent: number | null, node: DraftNode["node"]): number {
  const fallback = parent === null ? 0 : state.drafts[parent]!.at;
  state.drafts.push({ key: textAt(entry, "uuid"), parent, at: timeOf(entry, fallback), node });
  state.last = state.drafts.length - 1;
  return state.last;
}

/** A count that is missing keeps its value in `before`. */
export function claudeUsage(usage: Json | undefined, before = zeroUsage): Usage {
  return {
    input: numberAt(usage, "input_tokens") ?? before.input,
    output: numberAt(usage, "output_tokens") ?? before.output,
    cacheRead: numberAt(usage, "cache_read_input_tokens") ?? before.cacheRead,
    cacheWrite: numberAt(usage, "cache_creation_input_tokens") ?? before.cacheWrite,
  };
}
