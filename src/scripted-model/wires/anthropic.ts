// Reads requests and writes answers of Anthropic Messages.
import { field, isObject, listOf, textOf, type JsonValue, type JsonObject } from "../json.ts";
import { deltasOf, userItems } from "./wire.ts";
import type { PromptPiece, RequestItem, ScriptedAnswer, ServerWire, StreamEvent } from "./wire.ts";

export const anthropic: ServerWire = {
  name: "anthropic",
  read: (body) => ({
    tools: listOf(field(body, "tools")).map((tool) => ({ name: textOf(field(tool, "name")), form: "json" })),
    items: listOf(field(body, "messages")).flatMap(itemsOf),
    pieces: piecesOf(body),
    requestsUsage: true,
  }),
  events,
  fullBody: (answer) => ({
    ...messageHead(answer),
    content: answerBlocks(answer).map(({ block }) => block),
    stop_reason: stopReason(answer),
    usage: { ...inputUsage(answer), output_tokens: answer.usage.output },
  }),
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

function itemsOf(message: JsonValue): RequestItem[] {
  const content = field(message, "content");
  const isUser = field(message, "role") === "user";
  if (typeof content === "string") return isUser ? userItems(content) : [];
  return listOf(content).flatMap((block): RequestItem[] => {
    const type = field(block, "type");
    if (type === "text" && isUser) return userItems(textOf(field(block, "text")));
    if (type === "tool_use") return [{ type: "call" }];
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
  const { cache_control: breakpoint, ...content } = block;
  return { text: `${label} ${JSON.stringify(content)}\n`, breakpoint: breakpoint !== undefined };
}

function events(answer: ScriptedAnswer): StreamEvent[] {
  const list: StreamEvent[] = [];
  const send = (type: string, data: JsonObject): number => list.push({ event: type, data: { type, ...data } });
  const usage = { ...inputUsage(answer), output_tokens: 1 };
  send("message_start", { message: { ...messageHead(answer), content: [], stop_reason: null, usage } });
  send("ping", {});
  answerBlocks(answer).forEach(({ empty, deltas }, index) => {
    send("content_block_start", { index, content_block: empty });
    for (const delta of deltas) send("content_block_delta", { index, delta });
    send("content_block_stop", { index });
  });
  const delta = { stop_reason: stopReason(answer), stop_sequence: null };
  send("message_delta", { delta, usage: { output_tokens: answer.usage.output } });
  send("message_stop", {});
  return list;
}

function messageHead(answer: ScriptedAnswer): JsonObject {
  return { id: `msg_${answer.number}`, type: "message", role: "assistant", model: answer.model, stop_sequence: null };
}

/** A block as a whole, and as a stream: empty at its start, then its deltas. */
type AnswerBlock = { block: JsonObject; empty: JsonObject; deltas: JsonObject[] };

function answerBlocks({ number, thinking, text, calls }: ScriptedAnswer): AnswerBlock[] {
  const signature = `signature-${number}`;
  const thinkingBlock: AnswerBlock = {
    block: { type: "thinking", thinking, signature },
    empty: { type: "thinking", thinking: "", signature: "" },
    deltas: [...deltasOf(thinking).map((part) => ({ type: "thinking_delta", thinking: part })), { type: "signature_delta", signature }],
  };
  const textBlock: AnswerBlock = {
    block: { type: "text", text },
    empty: { type: "text", text: "" },
    deltas: deltasOf(text).map((part) => ({ type: "text_delta", text: part })),
  };
  const callBlocks = calls.map(({ id, name, input, inputText }): AnswerBlock => {
    const deltas = ["", ...deltasOf(inputText)].map((partial_json) => ({ type: "input_json_delta", partial_json }));
    return { block: { type: "tool_use", id, name, input }, empty: { type: "tool_use", id, name, input: {} }, deltas };
  });
  return [...(thinking === "" ? [] : [thinkingBlock]), ...(text === "" ? [] : [textBlock]), ...callBlocks];
}

function stopReason(answer: ScriptedAnswer): string {
  return answer.calls.length > 0 ? "tool_use" : "end_turn";
}

function inputUsage({ usage }: ScriptedAnswer): JsonObject {
  return { input_tokens: usage.input, cache_creation_input_tokens: usage.cacheWrite, cache_read_input_tokens: usage.cacheRead };
}
