// Counts the tokens of a first request with one tokenizer (o200k_base) for all programs: the JSON of system prompt, tool
// definitions and messages, in every protocol.
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { RecordedRequest } from "../src/scripted-model/model-server.ts";
import { field, listOf, type JsonValue } from "../src/scripted-model/json.ts";
import type { ServerWireName } from "../src/scripted-model/wires/wire.ts";

type Prompt = { system: JsonValue; tools: JsonValue; messages: JsonValue };

export type PromptTokens = { system: number; tools: number; messages: number; total: number };

const prompts: Record<ServerWireName, (body: JsonValue) => Prompt> = {
  anthropic: (body) => ({ system: part(body, "system"), tools: part(body, "tools"), messages: part(body, "messages") }),
  chat: (body) => ({ system: null, tools: part(body, "tools"), messages: part(body, "messages") }),
  gemini: (body) => ({ system: part(body, "systemInstruction"), tools: part(body, "tools"), messages: part(body, "contents") }),
  responses: (body) => {
    const isTools = (item: JsonValue): boolean => field(item, "type") === "additional_tools";
    const input = listOf(field(body, "input"));
    const tools = [...listOf(field(body, "tools")), ...input.filter(isTools).flatMap((item) => listOf(field(item, "tools")))];
    return { system: part(body, "instructions"), tools, messages: input.filter((item) => !isTools(item)) };
  },
};

export function promptTokens(request: RecordedRequest): PromptTokens {
  const prompt = prompts[request.wire ?? "chat"](request.body);
  const [system, tools, messages] = [count(prompt.system), count(prompt.tools), count(prompt.messages)];
  return { system, tools, messages, total: system + tools + messages };
}

function part(body: JsonValue, key: string): JsonValue {
  return field(body, key) ?? null;
}

function count(value: JsonValue): number {
  return value === null ? 0 : countTokens(JSON.stringify(value));
}
