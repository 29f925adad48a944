// Parses a session of opencode in the shape of `opencode export`: messages with their parts. A part of a tool has the call
// and its result, so it becomes a call in the answer's node and a node of its own.
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { countAt, listAt, objectAt, textAt, timeAt } from "../../../models/wire/json.ts";
import type { NewNode, Part } from "../../../protocol/tree/node.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import type { ParsedNode, ParsedTranscript, TranscriptFormat } from "./parsed-node.ts";
import { callPart, contentParts, resultNode, thinkingParts } from "./parts.ts";

export const opencode: TranscriptFormat = { recognises, parse };

function recognises(entry: Json): boolean {
  return textAt(objectAt(entry, "info"), "id").startsWith("ses_") && Array.isArray(entry["messages"]);
}

function parse(entries: Json[]): ParsedTranscript {
  const session = entries.find(recognises);
  const nodes: ParsedNode[] = [];
  for (const message of listAt(session, "messages")) addMessage(nodes, message);
  return { nativeId: textAt(objectAt(session, "info"), "id"), nodes, tip: nodes.length === 0 ? null : nodes.length - 1 };
}

function addMessage(nodes: ParsedNode[], message: Json): void {
  const info = objectAt(message, "info");
  const parts = listAt(message, "parts");
  const at = timeAt(objectAt(info, "time"), "created") ?? nodes.at(-1)?.at ?? 0;
  const add = (key: string, time: number, node: NewNode) =>
    void nodes.push({ key, parent: nodes.length === 0 ? null : nodes.length - 1, at: time, node });
  const id = textAt(info, "id");
  if (info?.["role"] === "user") return add(id, at, { author: "user", parts: parts.flatMap(promptParts) });
  const model = textAt(info, "modelID");
  const tokens = objectAt(info, "tokens");
  const cost = countAt(info, "cost") ?? 0;
  // The key changes with the number of calls, so that an answer that grew becomes a branch and is not kept in half.
  const key = `${id}#${parts.filter(isTool).length}`;
  add(key, at, {
    author: "agent",
    parts: parts.flatMap(answerParts),
    ...(model === "" ? {} : { model: `${textAt(info, "providerID") || "unknown"}/${model}` }),
    ...(tokens === undefined ? {} : { usage: opencodeUsage(tokens), costUsd: cost > 0 ? cost : null }),
  });
  for (const part of parts.filter(isTool)) {
    const state = objectAt(part, "state") ?? {};
    if (state["status"] !== "completed" && state["status"] !== "error") continue;
    const content = state["output"] ?? state["error"];
    const ended = timeAt(objectAt(state, "time"), "end") ?? at;
    const call = textAt(part, "callID");
    add(call, ended, resultNode({ call, name: textAt(part, "tool"), content, isError: state["status"] === "error" }));
  }
}

function isTool(part: Json): boolean {
  return part["type"] === "tool";
}

/** A synthetic part is context that opencode added. */
function promptParts(part: Json): Part[] {
  if (part["synthetic"] === true) return [];
  return part["type"] === "text" ? contentParts([part]) : contentParts([{ image_url: part["url"] }]);
}

function answerParts(part: Json): Part[] {
  if (part["type"] === "reasoning") return thinkingParts(textAt(part, "text"));
  if (!isTool(part)) return part["type"] === "text" ? contentParts([part]) : [];
  const input = objectAt(part, "state")?.["input"];
  return [callPart(textAt(part, "callID"), textAt(part, "tool"), isRecord(input) ? input : {})];
}

/** opencode counts thinking separately from the output. */
export function opencodeUsage(tokens: Json | undefined): Usage {
  const cache = objectAt(tokens, "cache");
  return {
    input: countAt(tokens, "input") ?? 0,
    output: (countAt(tokens, "output") ?? 0) + (countAt(tokens, "reasoning") ?? 0),
    cacheRead: countAt(cache, "read") ?? 0,
    cacheWrite: countAt(cache, "write") ?? 0,
  };
}
