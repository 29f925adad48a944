// The interface of a wire: parse a request, write an answer. One file per wire implements it, without scripts, faults or
// HTTP.
import type { JsonValue } from "../json.ts";
import type { TokenCounts } from "../script.ts";

export type ServerWireName = "anthropic" | "responses" | "chat" | "gemini";

export type ServerWire = {
  name: ServerWireName;
  read: (body: JsonValue) => ParsedRequest;
  /** The answer as a stream. */
  events: (answer: ScriptedAnswer) => StreamEvent[];
  /** The answer as one body, for clients that did not ask for a stream. */
  whole: (answer: ScriptedAnswer) => JsonValue;
  failure: (status: number, message: string) => JsonValue;
  errorEvents: (message: string) => StreamEvent[];
};

export type ParsedRequest = {
  tools: DeclaredTool[];
  items: RequestItem[];
  /** The whole prompt in the model's order, split where a cache entry may end. */
  pieces: PromptPiece[];
  /** Chat Completions reports usage in a stream only when asked. */
  wantsUsage: boolean;
};

/** A "free" tool takes text instead of JSON. Only OpenAI has namespaces. */
export type DeclaredTool = { name: string; form: "json" | "free"; namespace?: string };

export type RequestItem = { type: "user"; text: string } | { type: "call"; id: string } | { type: "result"; id: string };

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

/** Ignores text in tags, which clients add themselves. */
export function userItem(text: string): RequestItem[] {
  const trimmed = text.trim();
  return trimmed === "" || trimmed.startsWith("<") ? [] : [{ type: "user", text }];
}
