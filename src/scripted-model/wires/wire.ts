// What a protocol has to say about a request, and how an answer is put into it. One file per protocol implements
// this; none of them knows scripts, faults or HTTP.
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
  /** All that the model would read, in its order, cut where a cache may end. */
  pieces: PromptPiece[];
  /** Chat Completions reports usage in a stream only when asked. */
  wantsUsage: boolean;
};

/** "free" tools take text instead of JSON; `namespace` is OpenAI's. */
export type DeclaredTool = { name: string; form: "json" | "free"; namespace?: string };

export type RequestItem = { type: "user"; text: string } | { type: "call"; id: string } | { type: "result"; id: string };

/** `breakpoint`: the client asked for a cache entry that ends here. */
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

/** Deltas of a text: cut between code points. */
export function deltasOf(text: string, size = 24): string[] {
  const points = Array.from(text);
  const deltas: string[] = [];
  for (let at = 0; at < points.length; at += size) deltas.push(points.slice(at, at + size).join(""));
  return deltas;
}

/** Text that a client adds by itself is written in tags and is no prompt. */
export function userItem(text: string): RequestItem[] {
  const trimmed = text.trim();
  return trimmed === "" || trimmed.startsWith("<") ? [] : [{ type: "user", text }];
}
