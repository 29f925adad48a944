// The interface of a wire: parse a request, write an answer. One file per wire implements it, without scripts, faults or
// HTTP.
import { field, listOf, textOf, type JsonObject, type JsonValue } from "../json.ts";
import type { TokenCounts } from "../script.ts";

export type ServerWireName = "anthropic" | "responses" | "chat" | "gemini";

export type ServerWire = {
  name: ServerWireName;
  read: (body: JsonValue) => ParsedRequest;
  /** The answer as a stream. */
  events: (answer: ScriptedAnswer) => StreamEvent[];
  /** The answer as one body, for clients that did not ask for a stream. */
  fullBody: (answer: ScriptedAnswer) => JsonValue;
  failure: (status: number, message: string) => JsonValue;
  errorEvents: (message: string) => StreamEvent[];
};

export type ParsedRequest = {
  tools: DeclaredTool[];
  items: RequestItem[];
  /** The whole prompt in the model's order, split where a cache entry may end. */
  pieces: PromptPiece[];
  /** Chat Completions reports usage in a stream only when asked. */
  requestsUsage: boolean;
};

/** A "free" tool takes text instead of JSON. Only OpenAI has namespaces. */
export type DeclaredTool = { name: string; form: "json" | "free"; namespace?: string };

export type RequestItem = { type: "user"; text: string } | { type: "call" } | { type: "result"; id: string };

/** With `breakpoint` the client asks for a cache entry that ends here. */
export type PromptPiece = { text: string; breakpoint: boolean };

export type ScriptedAnswer = {
  model: string;
  /** Number of the request, for ids. */
  number: number;
  thinking: string;
  text: string;
  calls: AnswerCall[];
  usage: TokenCounts;
  reportUsage: boolean;
  malformed: boolean;
};

export type AnswerCall = DeclaredTool & { id: string; input: JsonValue; inputText: string };

export type StreamEvent = { event?: string; data: JsonValue };

export function eventText(event: StreamEvent): string {
  const data = event.data === "[DONE]" ? "[DONE]" : JSON.stringify(event.data);
  return event.event === undefined ? `data: ${data}\n\n` : `event: ${event.event}\ndata: ${data}\n\n`;
}

/** Splits a text between code points. */
export function deltasOf(text: string, size = 24): string[] {
  const points = Array.from(text);
  const deltas: string[] = [];
  for (let start = 0; start < points.length; start += size) deltas.push(points.slice(start, start + size).join(""));
  return deltas;
}

/** The texts of a user's content, which is a text or a list of parts. Ignores text in tags, which clients add themselves. */
export function userItems(content: JsonValue | undefined): RequestItem[] {
  const texts = typeof content === "string" ? [content] : listOf(content).map((part) => textOf(field(part, "text")));
  return texts.filter((text) => /^\s*[^\s<]/.test(text)).map((text) => ({ type: "user", text }));
}

/** A prompt without breakpoints: the vendor caches any common prefix. */
export function unmarkedPieces(values: JsonValue[]): PromptPiece[] {
  return values.map((value) => ({ text: `${JSON.stringify(value)}\n`, breakpoint: false }));
}

export function promptTokens({ input, cacheRead, cacheWrite }: TokenCounts): number {
  return input + cacheRead + cacheWrite;
}

/** The body of a failed request, in both APIs of OpenAI. */
export function openAiFailure(status: number, message: string): JsonObject {
  const type = status === 401 ? "invalid_request_error" : "server_error";
  return { error: { message, type, param: null, code: openAiCodes[status] ?? null } };
}

const openAiCodes: Record<number, string> = {
  401: "invalid_api_key",
  429: "rate_limit_exceeded",
  500: "server_error",
  529: "server_is_overloaded",
};
