// Reads requests and writes answers of OpenAI-compatible Chat Completions.
import { field, listOf, textOf, type JsonValue, type JsonObject } from "../json.ts";
import { deltasOf, openAiFailure, promptTokens, unmarkedPieces, userItems } from "./wire.ts";
import type { RequestItem, ScriptedAnswer, ServerWire, StreamEvent } from "./wire.ts";

export const chat: ServerWire = {
  name: "chat",
  read: (body) => ({
    tools: listOf(field(body, "tools")).map((tool) => ({ name: textOf(field(field(tool, "function"), "name")), form: "json" })),
    items: listOf(field(body, "messages")).flatMap(itemsOf),
    pieces: unmarkedPieces([...listOf(field(body, "tools")), ...listOf(field(body, "messages"))]),
    requestsUsage: field(body, "stream") !== true || field(field(body, "stream_options"), "include_usage") === true,
  }),
  events,
  fullBody,
  failure: openAiFailure,
  errorEvents: (message) => [{ data: { error: { message, type: "server_error", param: null, code: "server_error" } } }],
};

function itemsOf(message: JsonValue): RequestItem[] {
  const role = field(message, "role");
  if (role === "tool") return [{ type: "result", id: textOf(field(message, "tool_call_id")) }];
  if (role === "assistant") return listOf(field(message, "tool_calls")).map(() => ({ type: "call" }));
  return role === "user" ? userItems(field(message, "content")) : [];
}

function events(answer: ScriptedAnswer): StreamEvent[] {
  const head = headOf(answer, "chat.completion.chunk");
  const list: StreamEvent[] = [];
  const send = (delta: JsonObject, finish: string | null = null): number =>
    list.push({ data: { ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] } });
  send({ role: "assistant", content: "" });
  for (const reasoning_content of deltasOf(answer.thinking)) send({ reasoning_content });
  for (const content of deltasOf(answer.text)) send({ content });
  answer.calls.forEach(({ id, name, inputText }, index) => {
    send({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
    for (const part of deltasOf(inputText)) send({ tool_calls: [{ index, function: { arguments: part } }] });
  });
  send({}, finishReason(answer));
  if (answer.reportUsage) list.push({ data: { ...head, choices: [], usage: usageOf(answer) } });
  list.push({ data: "[DONE]" });
  return list;
}

function fullBody(answer: ScriptedAnswer): JsonValue {
  const message: JsonObject = { role: "assistant", content: answer.text === "" ? null : answer.text };
  if (answer.thinking !== "") message.reasoning_content = answer.thinking;
  const calls = answer.calls.map(({ id, name, inputText }) => ({ id, type: "function", function: { name, arguments: inputText } }));
  if (calls.length > 0) message.tool_calls = calls;
  return {
    ...headOf(answer, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(answer) }],
    usage: usageOf(answer),
  };
}

function headOf(answer: ScriptedAnswer, object: string): JsonObject {
  return { id: `chatcmpl-${answer.number}`, object, created: 1_700_000_000, model: answer.model };
}

function finishReason(answer: ScriptedAnswer): string {
  return answer.calls.length > 0 ? "tool_calls" : "stop";
}

function usageOf({ usage }: ScriptedAnswer): JsonObject {
  return {
    prompt_tokens: promptTokens(usage),
    completion_tokens: usage.output,
    total_tokens: promptTokens(usage) + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}
