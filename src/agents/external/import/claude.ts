// Claude Code's transcripts: one line per content block, linked by `parentUuid`; a rewound conversation branches.
// Results of calls made at once hang on different lines of one message: here they follow each other.
import { isJson, type Json, listAt, numberAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { Part } from "../../../protocol/tree/node.ts";
import {
  callPart,
  contentParts,
  type DraftNode,
  type TranscriptFormat,
  type ParsedTranscript,
  resultNode,
  timeOf,
  findToolName,
} from "./draft-node.ts";

export const claude: TranscriptFormat = { recognises, slim, parse };

function recognises(entry: Json): boolean {
  return "parentUuid" in entry && "sessionId" in entry && "uuid" in entry;
}

/** Attachments and the like are only links. */
function slim(entry: Json): Json | null {
  if (!("uuid" in entry)) return null;
  if (entry["type"] === "user" || entry["type"] === "assistant") return { ...entry, toolUseResult: undefined };
  const { uuid, parentUuid, logicalParentUuid, sessionId, isSidechain } = entry;
  return { uuid, parentUuid, logicalParentUuid, sessionId, isSidechain };
}

type State = {
  drafts: DraftNode[];
  /** Where a line's content went; null is before the first draft. */
  places: Map<string, number | null>;
  /** By agent draft: its message's id and the last of its results. */
  messages: Map<number, { id: string; results: number | null }>;
  /** By result draft: the agent draft it answers. */
  owners: Map<number, number>;
  last: number | null;
};

function parse(entries: Json[]): ParsedTranscript {
  const state: State = { drafts: [], places: new Map(), messages: new Map(), owners: new Map(), last: null };
  for (const entry of entries) {
    if (entry["isSidechain"] === true) continue;
    const place = take(state, entry, parentOf(state, entry));
    state.places.set(textAt(entry, "uuid"), place);
  }
  const nativeId = entries.map((entry) => textAt(entry, "sessionId")).find((id) => id !== "") ?? "";
  return { nativeId, drafts: state.drafts, tip: state.last };
}

/** A line whose parent could not be read goes on from the line before it. */
function parentOf(state: State, entry: Json): number | null {
  const named = textAt(entry, "parentUuid") || textAt(entry, "logicalParentUuid");
  if (named === "") return null;
  const place = state.places.get(named);
  return place === undefined ? state.last : place;
}

function take(state: State, entry: Json, parent: number | null): number | null {
  const message = objectAt(entry, "message");
  if (message === undefined || entry["isMeta"] === true) return parent;
  return entry["type"] === "assistant" ? takeAnswer(state, entry, message, parent) : takeUser(state, entry, message, parent);
}

function takeAnswer(state: State, entry: Json, message: Json, parent: number | null): number {
  const parts = listAt(message, "content").flatMap(answerPart);
  const id = textAt(message, "id");
  const open = parent === null ? null : (state.owners.get(parent) ?? parent);
  const known = open === null ? undefined : state.messages.get(open);
  const model = textAt(message, "model");
  const usage = usageOf(objectAt(message, "usage"));
  if (open !== null && known !== undefined && id !== "" && known.id === id) {
    const draft = state.drafts[open]!;
    draft.node.parts.push(...parts);
    draft.key += ` ${textAt(entry, "uuid")}`;
    if (usage !== null) draft.node.usage = usage;
    return known.results ?? open;
  }
  const isModel = model !== "" && !model.startsWith("<");
  const at = add(state, entry, afterResults(state, parent), {
    author: "agent",
    parts,
    ...(isModel ? { model: `anthropic/${model}` } : {}),
    ...(isModel && usage !== null ? { usage, costUsd: null } : {}),
  });
  state.messages.set(at, { id, results: null });
  return at;
}

function answerPart(block: Json): Part[] {
  const type = textAt(block, "type");
  if (type === "tool_use") return [callPart(textAt(block, "id"), textAt(block, "name"), block["input"])];
  if (type === "thinking") return textAt(block, "thinking") === "" ? [] : [{ kind: "thinking", text: textAt(block, "thinking") }];
  return type === "text" ? contentParts([block]) : [];
}

function takeUser(state: State, entry: Json, message: Json, parent: number | null): number | null {
  const content = message["content"];
  let at = parent;
  for (const [index, block] of (Array.isArray(content) ? content.filter(isJson) : []).entries()) {
    if (textAt(block, "type") === "tool_result") at = takeResult(state, entry, block, index, at);
  }
  const parts = contentParts(content);
  if (parts.length === 0) return at;
  if (entry["isCompactSummary"] === true) {
    return add(state, entry, afterResults(state, at), { author: "note", parts, note: { about: "compaction", keptFrom: null } });
  }
  return add(state, entry, afterResults(state, at), { author: "user", parts });
}

function takeResult(state: State, entry: Json, block: Json, index: number, parent: number | null): number {
  const owner = parent === null ? null : (state.owners.get(parent) ?? parent);
  const call = textAt(block, "tool_use_id");
  const name = findToolName(state.drafts, owner, call);
  const node = resultNode({ call, name, content: block["content"], isError: block["is_error"] === true });
  const at = add(state, entry, afterResults(state, parent), node);
  state.drafts[at]!.key += `#${index}`;
  const message = owner === null ? undefined : state.messages.get(owner);
  if (owner !== null && message !== undefined) {
    message.results = at;
    state.owners.set(at, owner);
  }
  return at;
}

/** What goes on from one result, or from the message, goes on from the last result. */
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

function usageOf(usage: Json | undefined) {
  if (usage === undefined) return null;
  return {
    input: numberAt(usage, "input_tokens") ?? 0,
    output: numberAt(usage, "output_tokens") ?? 0,
    cacheRead: numberAt(usage, "cache_read_input_tokens") ?? 0,
    cacheWrite: numberAt(usage, "cache_creation_input_tokens") ?? 0,
  };
}
