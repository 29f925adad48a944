// Gemini CLI's chats: records that add or complete a message, `$set` that lists all of them anew, `$rewindTo` that
// takes some back; older versions wrote one object. A message that was listed anew keeps its first, richer form.
import { isJson, type Json, listAt, numberAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { NewNode, Part } from "../../../protocol/tree/node.ts";
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

export const gemini: TranscriptFormat = { recognises, parse };

function recognises(entry: Json): boolean {
  return "sessionId" in entry && "projectHash" in entry;
}

type Chat = {
  messages: Map<string, { record: Json; before: string | null }>;
  /** The last message of the conversation as it stands. */
  last: string | null;
};

function parse(entries: Json[]): ParsedTranscript {
  const chat: Chat = { messages: new Map(), last: null };
  for (const entry of entries) takeEntry(chat, entry);
  const { drafts, places } = draftsOf(chat);
  const nativeId = textAt(entries.find(recognises), "sessionId");
  return { nativeId, drafts, tip: chat.last === null ? null : (places.get(chat.last) ?? null) };
}

function takeEntry(chat: Chat, entry: Json): void {
  const listed = objectAt(entry, "$set") ?? (recognises(entry) ? entry : undefined);
  if (Array.isArray(listed?.["messages"])) {
    chat.last = null;
    for (const record of listAt(listed, "messages")) takeMessage(chat, record, "keep");
  } else if (typeof entry["$rewindTo"] === "string") {
    chat.last = chat.messages.get(entry["$rewindTo"])?.before ?? null;
  } else if (textAt(entry, "id") !== "" && textAt(entry, "type") !== "") takeMessage(chat, entry, "replace");
}

function takeMessage(chat: Chat, record: Json, how: "keep" | "replace"): void {
  const id = textAt(record, "id");
  if (id === "") return;
  const known = chat.messages.get(id);
  if (known === undefined) chat.messages.set(id, { record, before: chat.last });
  else if (how === "replace") known.record = { ...record, timestamp: known.record["timestamp"] };
  chat.last = id;
}

function draftsOf(chat: Chat): { drafts: DraftNode[]; places: Map<string, number | null> } {
  const drafts: DraftNode[] = [];
  const places = new Map<string, number | null>();
  const answered = new Set<string>();
  for (const [id, { record, before }] of chat.messages) {
    let at = before === null ? null : (places.get(before) ?? null);
    for (const [index, { node, at: answeredAt }] of nodesOf(record, drafts, at, answered).entries()) {
      const calls = node.parts.filter((part) => part.kind === "call").length;
      drafts.push({ key: `${id}#${index}#${calls}`, parent: at, at: answeredAt ?? timeOf(record, 0), node });
      at = drafts.length - 1;
    }
    places.set(id, at);
  }
  return { drafts, places };
}

/** A result has a time of its own. */
type TimedNode = { node: NewNode; at?: number };

function nodesOf(record: Json, drafts: DraftNode[], at: number | null, answered: Set<string>): TimedNode[] {
  if (record["type"] === "gemini") return answerNodes(record, answered);
  if (record["type"] !== "user") return [];
  const content = record["content"];
  const results = (Array.isArray(content) ? content.filter(isJson) : []).flatMap((part) => {
    const response = objectAt(part, "functionResponse");
    return response === undefined ? [] : responseNode(response, findToolName(drafts, at, textAt(response, "id")), answered, false);
  });
  const parts = contentParts(content).filter((part) => part.kind !== "text" || !part.text.startsWith("<session_context>"));
  return parts.length === 0 ? results : [...results, { node: { author: "user", parts } }];
}

/** The results are kept with their calls. */
function answerNodes(record: Json, answered: Set<string>): TimedNode[] {
  const toolCalls = listAt(record, "toolCalls");
  const tokens = objectAt(record, "tokens");
  const model = textAt(record, "model");
  const node: NewNode = {
    author: "agent",
    parts: [
      ...thoughtsOf(record),
      ...spokenParts(record),
      ...toolCalls.map((call) => callPart(textAt(call, "id"), textAt(call, "name"), call["args"])),
    ],
    ...(model === "" ? {} : { model: `gemini/${model}` }),
    ...(tokens === undefined ? {} : { usage: usageOf(tokens), costUsd: null }),
  };
  const results = toolCalls.flatMap((call) => {
    const isError = textAt(call, "status") !== "success";
    const at = timeOf(call, timeOf(record, 0));
    const told = listAt(call, "result").flatMap((part) =>
      responseNode(objectAt(part, "functionResponse") ?? {}, textAt(call, "name"), answered, isError),
    );
    return told.map((each) => ({ ...each, at }));
  });
  return [{ node }, ...results];
}

function thoughtsOf(record: Json): Part[] {
  const thoughts = listAt(record, "thoughts").map((thought) =>
    [textAt(thought, "subject"), textAt(thought, "description")].filter((text) => text !== "").join("\n"),
  );
  return thoughts.length === 0 ? [] : [{ kind: "thinking", text: thoughts.join("\n\n") }];
}

/** A message that was only ever listed holds its thoughts and calls as pieces of the vendor's own shape. */
function spokenParts(record: Json): Part[] {
  const content = record["content"];
  if (!Array.isArray(content)) return contentParts(content);
  return content.filter(isJson).flatMap((piece): Part[] => {
    const call = objectAt(piece, "functionCall");
    if (call !== undefined) return [callPart(textAt(call, "id"), textAt(call, "name"), call["args"])];
    if (piece["thought"] === true) return [{ kind: "thinking", text: textAt(piece, "text") }];
    return contentParts([piece]);
  });
}

function responseNode(response: Json, name: string, answered: Set<string>, isError: boolean): TimedNode[] {
  const call = textAt(response, "id");
  if (call === "" || answered.has(call)) return [];
  answered.add(call);
  const told = objectAt(response, "response") ?? {};
  const content = textAt(told, "output") || textAt(told, "error") || JSON.stringify(told);
  return [{ node: resultNode({ call, name: textAt(response, "name") || name, content, isError: isError || "error" in told }) }];
}

function usageOf(tokens: Json) {
  const cacheRead = numberAt(tokens, "cached") ?? 0;
  return {
    input: Math.max(0, (numberAt(tokens, "input") ?? 0) - cacheRead) + (numberAt(tokens, "tool") ?? 0),
    output: (numberAt(tokens, "output") ?? 0) + (numberAt(tokens, "thoughts") ?? 0),
    cacheRead,
    cacheWrite: 0,
  };
}
