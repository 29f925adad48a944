// Reads requests and writes answers of OpenAI-compatible Chat Completions.
import { field, listOf, textOf, type JsonValue, type JsonObject } from "../json.ts";
import {
  deltasOf,
  userItem,
  type ScriptedAnswer,
  type DeclaredTool,
  type RequestItem,
  type PromptPiece,
  type ServerWire,
  type ParsedRequest,
  type StreamEvent,
} from "./wire.ts";

export const chat: ServerWire = {
  name: "chat",
  read,
  events,
  whole,
  failure: (status, message) => ({
    error: { message, type: status === 401 ? "invalid_request_error" : "server_error", param: null, code: codes[status] ?? null },
  }),
  errorEvents: (message) => [{ data: { error: { message, type: "server_error", param: null, code: "server_error" } } }],
};

const codes: Record<number, string> = { 401: "invalid_api_key", 429: "rate_limit_exceeded" };

function read(body: JsonValue): ParsedRequest {
  return {
    tools: listOf(field(body, "tools")).map(declaredTool),
    items: listOf(field(body, "messages")).flatMap(itemsOf),
    pieces: [...listOf(field(body, "tools")), ...listOf(field(body, "messages"))].map(pieceOf),
    wantsUsage: field(body, "stream") !== true || field(field(body, "stream_options"), "include_usage") === true,
  };
}

function declaredTool(tool: JsonValue): DeclaredTool {
  return { name: textOf(field(field(tool, "function"), "name")), form: "json" };
}

function itemsOf(message: JsonValue): RequestItem[] {
  const role = field(message, "role");
  const content = field(message, "content");
  if (role === "tool") return [{ type: "result", id: textOf(field(message, "tool_call_id")) }];
  if (role === "assistant") return listOf(field(message, "tool_calls")).map((call) => ({ type: "call", id: textOf(field(call, "id")) }));
  if (role !== "user") return [];
  if (typeof content === "string") return userItem(content);
  return listOf(content).flatMap((part) => userItem(textOf(field(part, "text"))));
}

function pieceOf(value: JsonValue): PromptPiece {
  return { text: `${JSON.stringify(value)}\n`, breakpoint: false };
}

function events(answer: ScriptedAnswer): StreamEvent[] {
  const list: StreamEvent[] = [];
  const send = (delta: JsonObject, finish: string | null = null): number =>
    list.push({
      data: { ...head(answer, "chat.completion.chunk"), choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] },
    });
  send({ role: "assistant", content: "" });
  for (const reasoning_content of deltasOf(answer.thinking)) send({ reasoning_content });
  for (const content of deltasOf(answer.text)) send({ content });
  answer.calls.forEach((call, index) => {
    send({ tool_calls: [{ index, id: call.id, type: "function", function: { name: call.name, arguments: "" } }] });
    for (const part of deltasOf(call.inputText)) send({ tool_calls: [{ index, function: { arguments: part } }] });
  });
  send({}, finishReason(answer));
  if (answer.reportUsage) list.push({ data: { ...head(answer, "chat.completion.chunk"), choices: [], usage: usageOf(answer) } });
  list.push({ data: "[DONE]" });
  return list;
}

function whole(answer: ScriptedAnswer): JsonValue {
  const message: JsonObject = { role: "assistant", content: answer.text === "" ? null : answer.text };
  if (answer.thinking !== "") message.reasoning_content = answer.thinking;
  if (answer.calls.length > 0) {
    message.tool_calls = answer.calls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.inputText },
    }));
  }
  return {
    ...head(answer, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(answer) }],
    usage: usageOf(answer),
  };
}

function head(answer: ScriptedAnswer, object: string): JsonObject {
  return { id: `chatcmpl-${answer.number}`, object, created: 1_700_000_000, model: answer.model };
}

function finishReason(answer: ScriptedAnswer): string {
  return answer.calls.length > 0 ? "tool_calls" : "stop";
}

function usageOf({ usage }: ScriptedAnswer): JsonObject {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}
