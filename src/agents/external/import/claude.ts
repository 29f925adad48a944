// Parses Claude Code's transcripts: one line per content block, linked by `parentUuid`. A rewound conversation branches.
// The results of parallel calls have different lines of one message as parents; here they become a sequence.
import type { Json } from "../../../kit/text/json.ts";
import { listAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { Part } from "../../../protocol/tree/node.ts";
import { zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";
import { addDraft, type DraftNode, findToolName, type ParsedTranscript, type TranscriptFormat } from "./draft-node.ts";
import { callPart, compactionNode, contentParts, resultNode, thinkingParts, usageAt } from "./parts.ts";

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
  /** The message of each agent draft, and of the drafts of its results. */
  messages: Map<number, Message>;
  last: number | null;
};

/** `results` is the draft of its last result. Everything that follows the message or one of its results comes after it. */
type Message = { id: string; draft: number; results: number | null };

function parse(entries: Json[]): ParsedTranscript {
  const state: State = { drafts: [], draftByLine: new Map(), messages: new Map(), last: null };
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
  const current = messageOf(state, parent);
  const model = textAt(message, "model");
  const usage = objectAt(message, "usage");
  if (current !== undefined && id !== "" && current.id === id) {
    const draft = state.drafts[current.draft]!;
    draft.node.parts.push(...parts);
    draft.key += ` ${textAt(entry, "uuid")}`;
    if (usage !== undefined) draft.node.usage = claudeUsage(usage);
    return current.results ?? current.draft;
  }
  const isModel = model !== "" && !model.startsWith("<");
  const draft = add(state, entry, parent, {
    author: "agent",
    parts,
    ...(isModel ? { model: `anthropic/${model}` } : {}),
    ...(isModel && usage !== undefined ? { usage: claudeUsage(usage), costUsd: null } : {}),
  });
  state.messages.set(draft, { id, draft, results: null });
  return draft;
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
  const name = findToolName(state.drafts, message?.draft ?? parent, call);
  const node = resultNode({ call, name, content: block["content"], isError: block["is_error"] === true });
  const draft = add(state, entry, parent, node);
  state.drafts[draft]!.key = key;
  if (message !== undefined) {
    message.results = draft;
    state.messages.set(draft, message);
  }
  return draft;
}

/** The message of an agent draft, or of the draft of one of its results. */
function messageOf(state: State, draft: number | null): Message | undefined {
  return draft === null ? undefined : state.messages.get(draft);
}

/** Adds a draft behind the results of the message that `parent` belongs to. */
function add(state: State, entry: Json, parent: number | null, node: DraftNode["node"]): number {
  const after = messageOf(state, parent)?.results ?? parent;
  state.last = addDraft(state.drafts, entry, { key: textAt(entry, "uuid"), parent: after, node });
  return state.last;
}

/** A count that is missing keeps its value in `before`. */
export function claudeUsage(usage: Json | undefined, before = zeroUsage): Usage {
  return usageAt(usage, ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"], before);
}
