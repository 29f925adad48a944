// Reads requests and writes answers of OpenAI Responses.
import { field, listOf, textOf, type JsonValue, type JsonObject } from "../json.ts";
import { deltasOf, openAiFailure, promptTokens, unmarkedPieces, userItems } from "./wire.ts";
import type { AnswerCall, DeclaredTool, RequestItem, ScriptedAnswer, ServerWire, StreamEvent } from "./wire.ts";

export const responses: ServerWire = {
  name: "responses",
  read: (body) => {
    const input = field(body, "input");
    const items = typeof input === "string" ? [{ type: "message", role: "user", content: input }] : listOf(input);
    // Codex declares the tools of its newest models in an input item.
    const added = items.filter((item) => field(item, "type") === "additional_tools").flatMap((item) => listOf(field(item, "tools")));
    return {
      tools: [...listOf(field(body, "tools")), ...added].flatMap((tool) => declaredTools(tool)),
      items: items.flatMap(itemsOf),
      pieces: unmarkedPieces([field(body, "tools") ?? null, field(body, "instructions") ?? null, ...items]),
      requestsUsage: true,
    };
  },
  events,
  fullBody: (answer) => responseOf(answer, "completed"),
  failure: openAiFailure,
  errorEvents,
};

function declaredTools(tool: JsonValue, namespace?: string): DeclaredTool[] {
  const type = field(tool, "type");
  const name = textOf(field(tool, "name"));
  if (type === "namespace") return listOf(field(tool, "tools")).flatMap((inner) => declaredTools(inner, name));
  return [{ name, form: type === "custom" ? "free" : "json", namespace }];
}

function itemsOf(item: JsonValue): RequestItem[] {
  const type = textOf(field(item, "type"));
  if (type.endsWith("_call_output")) return [{ type: "result", id: textOf(field(item, "call_id")) }];
  if (type.endsWith("_call")) return [{ type: "call" }];
  return field(item, "role") === "user" ? userItems(field(item, "content")) : [];
}

function events(answer: ScriptedAnswer): StreamEvent[] {
  const output = outputOf(answer, "completed");
  const payloads: JsonObject[] = [
    { type: "response.created", response: responseOf(answer, "in_progress") },
    { type: "response.in_progress", response: responseOf(answer, "in_progress") },
    ...output.flatMap((item, index) => itemEvents(item, index)),
    { type: "response.completed", response: responseOf(answer, "completed") },
  ];
  return payloads.map((data, sequence_number) => ({ event: textOf(data.type), data: { ...data, sequence_number } }));
}

function itemEvents(item: JsonObject, output_index: number): JsonObject[] {
  const position = { item_id: textOf(item.id), output_index };
  return [
    { type: "response.output_item.added", output_index, item: withoutContent(item) },
    ...innerEvents(item, position),
    { type: "response.output_item.done", output_index, item },
  ];
}

function innerEvents(item: JsonObject, position: JsonObject): JsonObject[] {
  switch (item.type) {
    case "message":
      return partEvents(
        "response.content_part",
        "response.output_text",
        { ...position, content_index: 0, logprobs: [] },
        listOf(item.content),
      );
    case "reasoning":
      return partEvents(
        "response.reasoning_summary_part",
        "response.reasoning_summary_text",
        { ...position, summary_index: 0 },
        listOf(item.summary),
      );
    case "custom_tool_call":
      return textEvents("response.custom_tool_call_input", position, textOf(item.input), { input: textOf(item.input) });
    default: {
      const done = { name: textOf(item.name), arguments: textOf(item.arguments) };
      return textEvents("response.function_call_arguments", position, done.arguments, done);
    }
  }
}

/** The events of the only part of an item: its start, its text, its end. */
function partEvents(partName: string, textName: string, position: JsonObject, [part]: JsonValue[]): JsonObject[] {
  const completePart = part as JsonObject;
  return [
    { type: `${partName}.added`, ...position, part: { ...completePart, text: "" } },
    ...textEvents(textName, position, textOf(completePart.text), { text: textOf(completePart.text) }),
    { type: `${partName}.done`, ...position, part: completePart },
  ];
}

/** A text as deltas, and the event after them. */
function textEvents(name: string, position: JsonObject, text: string, done: JsonObject): JsonObject[] {
  const deltas = deltasOf(text).map((delta) => ({ type: `${name}.delta`, ...position, delta }));
  return [...deltas, { type: `${name}.done`, ...position, ...done }];
}

function withoutContent(item: JsonObject): JsonObject {
  if (item.type === "message") return { ...item, status: "in_progress", content: [] };
  if (item.type === "reasoning") return { ...item, summary: [] };
  if (item.type === "custom_tool_call") return { ...item, status: "in_progress", input: "" };
  return { ...item, status: "in_progress", arguments: "" };
}

function outputOf(answer: ScriptedAnswer, status: string): JsonObject[] {
  const list: JsonObject[] = [];
  if (answer.thinking !== "") {
    const summary = [{ type: "summary_text", text: answer.thinking }];
    list.push({ type: "reasoning", id: `rs_${answer.number}`, summary, encrypted_content: btoa(`reasoning-${answer.number}`) });
  }
  if (answer.text !== "") {
    const content = [{ type: "output_text", text: answer.text, annotations: [], logprobs: [] }];
    list.push({ type: "message", id: `msg_${answer.number}`, status, role: "assistant", content });
  }
  answer.calls.forEach((call, index) => list.push(callItem(call, `${answer.number}_${index}`, status)));
  return list;
}

function callItem(call: AnswerCall, id: string, status: string): JsonObject {
  const common = { status, call_id: call.id, name: call.name, ...(call.namespace === undefined ? {} : { namespace: call.namespace }) };
  if (call.form === "free") return { type: "custom_tool_call", id: `ctc_${id}`, ...common, input: call.inputText };
  return { type: "function_call", id: `fc_${id}`, ...common, arguments: call.inputText };
}

function responseOf(answer: ScriptedAnswer, status: "in_progress" | "completed"): JsonObject {
  const isDone = status === "completed";
  return {
    id: `resp_${answer.number}`,
    object: "response",
    created_at: 1_700_000_000,
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: answer.model,
    output: isDone ? outputOf(answer, status) : [],
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    usage: isDone ? usageOf(answer) : null,
  };
}

function usageOf({ usage }: ScriptedAnswer): JsonObject {
  return {
    input_tokens: promptTokens(usage),
    input_tokens_details: { cached_tokens: usage.cacheRead },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: promptTokens(usage) + usage.output,
  };
}

function errorEvents(message: string): StreamEvent[] {
  const error = { code: "server_error", message };
  const response = { id: "resp_failed", object: "response", created_at: 1_700_000_000, status: "failed", error, output: [], usage: null };
  return [{ event: "response.failed", data: { type: "response.failed", sequence_number: 99, response } }];
}
