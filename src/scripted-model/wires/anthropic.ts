// Reads requests and writes answers of Anthropic Messages.
import { field, isObject, listOf, textOf, type JsonValue, type JsonObject } from "../json.ts";
import {
  deltasOf,
  userItem,
  type ScriptedAnswer,
  type AnswerCall,
  type DeclaredTool,
  type RequestItem,
  type PromptPiece,
  type ServerWire,
  type ParsedRequest,
  type StreamEvent,
} from "./wire.ts";

export const anthropic: ServerWire = {
  name: "anthropic",
  read,
  events,
  whole: (answer) => ({ ...messageHead(answer), content: blocks(answer), stop_reason: stopReason(answer), usage: usageOf(answer) }),
  failure: (status, message) => ({
    type: "error",
    error: { type: errorTypes[status] ?? "api_error", message },
    request_id: "req_scripted",
  }),
  errorEvents: (message) => [{ event: "error", data: { type: "error", error: { type: "overloaded_error", message } } }],
};

const errorTypes: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  529: "overloaded_error",
};

function read(body: JsonValue): ParsedRequest {
  return { tools: declaredTools(body), items: listOf(field(body, "messages")).flatMap(itemsOf), pieces: piecesOf(body), wantsUsage: true };
}

function declaredTools(body: JsonValue): DeclaredTool[] {
  return listOf(field(body, "tools")).map((tool) => ({ name: textOf(field(tool, "name")), form: "json" }));
}

function itemsOf(message: JsonValue): RequestItem[] {
  const content = field(message, "content");
  const isUser = field(message, "role") === "user";
  if (typeof content === "string") return isUser ? userItem(content) : [];
  return listOf(content).flatMap((block): RequestItem[] => {
    const type = field(block, "type");
    if (type === "text" && isUser) return userItem(textOf(field(block, "text")));
    if (type === "tool_use") return [{ type: "call", id: textOf(field(block, "id")) }];
    if (type === "tool_result") return [{ type: "result", id: textOf(field(block, "tool_use_id")) }];
    return [];
  });
}

/** In the order of the vendor's cache: tools, system, messages. A string equals one text block. */
function piecesOf(body: JsonValue): PromptPiece[] {
  const tools = listOf(field(body, "tools")).map((tool) => pieceOf("tool", tool));
  const system = blocksOf(field(body, "system")).map((block) => pieceOf("system", block));
  const messages = listOf(field(body, "messages")).flatMap((message) =>
    blocksOf(field(message, "content")).map((block) => pieceOf(textOf(field(message, "role")), block)),
  );
  return [...tools, ...system, ...messages];
}

function blocksOf(content: JsonValue | undefined): JsonValue[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
}

function pieceOf(label: string, block: JsonValue): PromptPiece {
  if (!isObject(block)) return { text: `${label} ${JSON.stringify(block)}\n`, breakpoint: false };
  const { cache_control: breakpoint, ...rest } = block;
  return { text: `${label} ${JSON.stringify(rest)}\n`, breakpoint: breakpoint !== undefined };
}

function events(answer: ScriptedAnswer): StreamEvent[] {
  const list: StreamEvent[] = [];
  const send = (type: string, data: JsonObject): number => list.push({ event: type, data: { type, ...data } });
  const { output, ...input } = answer.usage;
  send("message_start", {
    message: { ...messageHead(answer), content: [], stop_reason: null, usage: { ...inputUsage(input), output_tokens: 1 } },
  });
  send("ping", {});
  blocks(answer).forEach((block, index) => {
    send("content_block_start", { index, content_block: withoutContent(block) });
    for (const delta of deltasOfBlock(block, answer.calls)) send("content_block_delta", { index, delta });
    send("content_block_stop", { index });
  });
  send("message_delta", { delta: { stop_reason: stopReason(answer), stop_sequence: null }, usage: { output_tokens: output } });
  send("message_stop", {});
  return list;
}

function messageHead(answer: ScriptedAnswer): JsonObject {
  return { id: `msg_${answer.number}`, type: "message", role: "assistant", model: answer.model, stop_sequence: null };
}

function blocks(answer: ScriptedAnswer): JsonObject[] {
  const list: JsonObject[] = [];
  if (answer.thinking !== "") list.push({ type: "thinking", thinking: answer.thinking, signature: `signature-${answer.number}` });
  if (answer.text !== "") list.push({ type: "text", text: answer.text });
  for (const call of answer.calls) list.push({ type: "tool_use", id: call.id, name: call.name, input: call.input });
  return list;
}

function withoutContent(block: JsonObject): JsonObject {
  if (block.type === "thinking") return { type: "thinking", thinking: "", signature: "" };
  if (block.type === "text") return { type: "text", text: "" };
  return { ...block, input: {} };
}

function deltasOfBlock(block: JsonObject, calls: AnswerCall[]): JsonObject[] {
  if (block.type === "text") return deltasOf(textOf(block.text)).map((text) => ({ type: "text_delta", text }));
  if (block.type === "thinking") {
    const deltas: JsonObject[] = deltasOf(textOf(block.thinking)).map((thinking) => ({ type: "thinking_delta", thinking }));
    return [...deltas, { type: "signature_delta", signature: textOf(block.signature) }];
  }
  const call = calls.find(({ id }) => id === block.id);
  return ["", ...deltasOf(call?.inputText ?? "{}")].map((partial_json) => ({ type: "input_json_delta", partial_json }));
}

function stopReason(answer: ScriptedAnswer): string {
  return answer.calls.length > 0 ? "tool_use" : "end_turn";
}

function usageOf(answer: ScriptedAnswer): JsonObject {
  return { ...inputUsage(answer.usage), output_tokens: answer.usage.output };
}

function inputUsage(counts: { input: number; cacheRead: number; cacheWrite: number }): JsonObject {
  return { input_tokens: counts.input, cache_creation_input_tokens: counts.cacheWrite, cache_read_input_tokens: counts.cacheRead };
}
