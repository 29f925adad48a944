// Reads requests and writes answers of Gemini's generateContent. The model's name is in the path, not in the body.
import { field, isObject, listOf, textOf, type JsonValue, type JsonObject } from "../json.ts";
import { deltasOf, promptTokens, unmarkedPieces, userItems } from "./wire.ts";
import type { RequestItem, ScriptedAnswer, ServerWire, StreamEvent } from "./wire.ts";

export const gemini: ServerWire = {
  name: "gemini",
  read: (body) => {
    const contents = listOf(field(body, "contents"));
    const stable = ["tools", "systemInstruction", "system_instruction"].map((key) => field(body, key) ?? null);
    const declarations = listOf(field(body, "tools")).flatMap((tool) =>
      listOf(field(tool, "functionDeclarations") ?? field(tool, "function_declarations")),
    );
    return {
      tools: declarations.map((declaration) => ({ name: textOf(field(declaration, "name")), form: "json" })),
      items: contents.flatMap(itemsOf),
      pieces: unmarkedPieces([...stable, ...contents]),
      requestsUsage: true,
    };
  },
  events,
  fullBody: (answer) => chunk(answer, partsOf(answer), finishReason(answer)),
  failure: (status, message) => ({ error: { code: status, message, status: statusNames[status] ?? "INTERNAL" } }),
  errorEvents: (message) => [{ data: { error: { code: 503, message, status: "UNAVAILABLE" } } }],
};

const statusNames: Record<number, string> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  529: "UNAVAILABLE",
};

function itemsOf(content: JsonValue): RequestItem[] {
  const isUser = field(content, "role") !== "model";
  return listOf(field(content, "parts")).flatMap((part): RequestItem[] => {
    const response = field(part, "functionResponse");
    if (isObject(field(part, "functionCall"))) return [{ type: "call" }];
    if (isObject(response)) return [{ type: "result", id: textOf(response.id) }];
    return isUser ? userItems(textOf(field(part, "text"))) : [];
  });
}

function events(answer: ScriptedAnswer): StreamEvent[] {
  const chunks = partsOf(answer).map((part) => ({ data: chunk(answer, [part], null) }));
  return [...chunks, { data: chunk(answer, [], finishReason(answer)) }];
}

function partsOf(answer: ScriptedAnswer): JsonObject[] {
  if (answer.malformed) return [];
  const thoughts = deltasOf(answer.thinking).map((text) => ({ text, thought: true }));
  const texts = deltasOf(answer.text).map((text) => ({ text }));
  const calls = answer.calls.map((call, index): JsonObject => {
    const part: JsonObject = { functionCall: { id: call.id, name: call.name, args: call.input } };
    if (answer.thinking !== "" && index === 0) part.thoughtSignature = btoa(`signature-${answer.number}`);
    return part;
  });
  return [...thoughts, ...texts, ...calls];
}

function chunk(answer: ScriptedAnswer, parts: JsonObject[], finish: string | null): JsonObject {
  const candidate: JsonObject = { content: { role: "model", parts }, index: 0 };
  if (finish !== null) candidate.finishReason = finish;
  if (answer.malformed) candidate.finishMessage = "Malformed function call";
  return { candidates: [candidate], usageMetadata: usageOf(answer), modelVersion: answer.model, responseId: `response-${answer.number}` };
}

function finishReason(answer: ScriptedAnswer): string {
  return answer.malformed ? "MALFORMED_FUNCTION_CALL" : "STOP";
}

function usageOf({ usage }: ScriptedAnswer): JsonObject {
  return {
    promptTokenCount: promptTokens(usage),
    cachedContentTokenCount: usage.cacheRead,
    candidatesTokenCount: usage.output,
    thoughtsTokenCount: 0,
    totalTokenCount: promptTokens(usage) + usage.output,
  };
}
