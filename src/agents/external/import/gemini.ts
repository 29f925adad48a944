// Parses Gemini CLI's chats: records that add or complete a message, `$set` with a new list of all messages, and
// `$rewindTo`. Older versions wrote one object. A message keeps its first form, which has more data than a later list.
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { countAt, listAt, objectAt, textAt } from "../../../models/wire/json.ts";
import { callsOf, type NewNode, type Part } from "../../../protocol/tree/node.ts";
import { addNode, type ParsedNode, findToolName, type ParsedTranscript, type TranscriptFormat } from "./parsed-node.ts";
import { callPart, contentParts, resultNode, thinkingParts } from "./parts.ts";

export const gemini: TranscriptFormat = { recognises, parse };

function recognises(entry: Json): boolean {
  return "sessionId" in entry && "projectHash" in entry;
}

type Chat = {
  /** From the id of a message to its record and the id of the message before it. */
  messages: Map<string, { record: Json; before: string | null }>;
  /** Id of the last message of the conversation. */
  last: string | null;
};

function parse(entries: Json[]): ParsedTranscript {
  const chat: Chat = { messages: new Map(), last: null };
  for (const entry of entries) readEntry(chat, entry);
  const nodes: ParsedNode[] = [];
  const nodeIndexById = new Map<string, number | null>();
  const nodeIndexOf = (id: string | null): number | null => (id === null ? null : (nodeIndexById.get(id) ?? null));
  const answered = new Set<string>();
  for (const [id, { record, before }] of chat.messages) {
    let parent = nodeIndexOf(before);
    for (const [index, { entry, node }] of nodesOf(record, nodes, parent, answered).entries())
      parent = addNode(nodes, entry, { key: `${id}#${index}#${callsOf(node).length}`, parent, node });
    nodeIndexById.set(id, parent);
  }
  return { nativeId: textAt(entries.find(recognises), "sessionId"), nodes, tip: nodeIndexOf(chat.last) };
}

function readEntry(chat: Chat, entry: Json): void {
  const listed = objectAt(entry, "$set") ?? (recognises(entry) ? entry : undefined);
  if (Array.isArray(listed?.["messages"])) {
    chat.last = null;
    for (const record of listAt(listed, "messages")) addMessage(chat, record, "keep");
  } else if (typeof entry["$rewindTo"] === "string") {
    chat.last = chat.messages.get(entry["$rewindTo"])?.before ?? null;
  } else if (textAt(entry, "id") !== "" && textAt(entry, "type") !== "") addMessage(chat, entry, "replace");
}

function addMessage(chat: Chat, record: Json, how: "keep" | "replace"): void {
  const id = textAt(record, "id");
  if (id === "") return;
  const existing = chat.messages.get(id);
  if (existing === undefined) chat.messages.set(id, { record, before: chat.last });
  else if (how === "replace") existing.record = { ...record, timestamp: existing.record["timestamp"] };
  chat.last = id;
}

/** `entry` is the record or call whose timestamp the node gets. */
type TimedNode = { entry: Json; node: NewNode };

/** `answered` has the ids of calls whose result was read; this function adds to it. */
function nodesOf(record: Json, nodes: ParsedNode[], parent: number | null, answered: Set<string>): TimedNode[] {
  if (record["type"] === "gemini") return answerNodes(record, answered);
  if (record["type"] !== "user") return [];
  const results = listAt(record, "content").flatMap((part) => {
    const response = objectAt(part, "functionResponse") ?? {};
    return responseNodes(response, findToolName(nodes, parent, textAt(response, "id")), answered, false);
  });
  const parts = contentParts(record["content"]).filter((part) => part.kind !== "text" || !part.text.startsWith("<session_context>"));
  const newNodes: NewNode[] = parts.length === 0 ? results : [...results, { author: "user", parts }];
  return newNodes.map((node) => ({ entry: record, node }));
}

/** Gemini CLI stores the results with their calls. */
function answerNodes(record: Json, answered: Set<string>): TimedNode[] {
  const toolCalls = listAt(record, "toolCalls");
  const tokens = objectAt(record, "tokens");
  const model = textAt(record, "model");
  const node: NewNode = {
    author: "agent",
    parts: [
      ...thoughtsOf(record),
      ...messageParts(record),
      ...toolCalls.map((call) => callPart(textAt(call, "id"), textAt(call, "name"), call["args"])),
    ],
    ...(model === "" ? {} : { model: `gemini/${model}` }),
    ...(tokens === undefined ? {} : { usage: usageOf(tokens), costUsd: null }),
  };
  const results = toolCalls.flatMap((call) => {
    const isError = textAt(call, "status") !== "success";
    const nodes = listAt(call, "result").flatMap((part) =>
      responseNodes(objectAt(part, "functionResponse") ?? {}, textAt(call, "name"), answered, isError),
    );
    return nodes.map((result) => ({ entry: call, node: result }));
  });
  return [{ entry: record, node }, ...results];
}

function thoughtsOf(record: Json): Part[] {
  const thoughts = listAt(record, "thoughts").map((thought) =>
    [textAt(thought, "subject"), textAt(thought, "description")].filter((text) => text !== "").join("\n"),
  );
  return thinkingParts(thoughts.join("\n\n"));
}

/** A message that only appears in a list has its thoughts and calls in the vendor's format. */
function messageParts(record: Json): Part[] {
  const content = record["content"];
  if (!Array.isArray(content)) return contentParts(content);
  return content.filter(isRecord).flatMap((piece): Part[] => {
    const call = objectAt(piece, "functionCall");
    if (call !== undefined) return [callPart(textAt(call, "id"), textAt(call, "name"), call["args"])];
    if (piece["thought"] === true) return thinkingParts(textAt(piece, "text"));
    return contentParts([piece]);
  });
}

/** One node for the result of a call; empty if an earlier record had the result. */
function responseNodes(response: Json, name: string, answered: Set<string>, isError: boolean): NewNode[] {
  const call = textAt(response, "id");
  if (call === "" || answered.has(call)) return [];
  answered.add(call);
  const output = objectAt(response, "response") ?? {};
  const content = textAt(output, "output") || textAt(output, "error") || JSON.stringify(output);
  return [resultNode({ call, name: textAt(response, "name") || name, content, isError: isError || "error" in output })];
}

function usageOf(tokens: Json) {
  const cacheRead = countAt(tokens, "cached") ?? 0;
  return {
    input: Math.max(0, (countAt(tokens, "input") ?? 0) - cacheRead) + (countAt(tokens, "tool") ?? 0),
    output: (countAt(tokens, "output") ?? 0) + (countAt(tokens, "thoughts") ?? 0),
    cacheRead,
    cacheWrite: 0,
  };
}
