// What Claude Code prints, line by line or as one JSON value: its messages, results, retries and how it says it ended.
// A message comes block by block and its usage last; sub-agents speak on the same stream under the call that began them.
import { isJson, type Json, listAt, numberAt, objectAt, textAt } from "../../../../models/wire/json.ts";
import type { TurnStatus } from "../../../../protocol/api/error.ts";
import type { CallPart, ImageData, Part } from "../../../../protocol/tree/node.ts";
import { addUsage, zeroUsage, type Usage } from "../../../../protocol/tree/usage.ts";
import type { CliEvent, CliReader } from "../adapter.ts";
import { contentParts } from "../../import/draft-node.ts";
import { garbageEvent, parseJsonLine } from "./json-line.ts";

type Message = {
  id: string;
  model: string;
  parts: Part[];
  /** As the message began, and whole; null until its end has told it. */
  begun: Usage;
  usage: Usage | null;
  /** Its end will be told; results that come before it wait. */
  isStreamed: boolean;
  waiting: CliEvent[];
};

type State = {
  session: string;
  hasModel: boolean;
  hasAnswer: boolean;
  /** By the call above them; "" is Claude itself. */
  open: Map<string, Message>;
  /** Names of tools by the call above and their own. */
  names: Map<string, string>;
  isRefused: boolean;
  /** What it said in place of an answer, should no result follow. */
  trouble: { message: string; kind?: TurnStatus } | null;
};

export function claudeReader(): CliReader {
  const state: State = {
    session: "",
    hasModel: false,
    hasAnswer: false,
    open: new Map(),
    names: new Map(),
    isRefused: false,
    trouble: null,
  };
  return {
    line: (text) => {
      const value = parseJsonLine(text);
      if (Array.isArray(value)) return value.filter(isJson).flatMap((entry) => readEntry(state, entry));
      return isJson(value) && textAt(value, "type") !== "" ? readEntry(state, value) : garbageEvent(text);
    },
    end: () => [...closeAll(state), ...(state.trouble === null ? [] : [{ type: "failed" as const, ...state.trouble }])],
  };
}

function readEntry(state: State, entry: Json): CliEvent[] {
  const session = sessionOf(state, entry);
  const above = textAt(entry, "parent_tool_use_id");
  switch (entry["type"]) {
    case "stream_event":
      return [...session, ...readStream(state, above, objectAt(entry, "event"))];
    case "assistant":
      return [...session, ...readAssistant(state, above, entry)];
    case "user":
      return [...session, ...readUser(state, above, objectAt(entry, "message"))];
    case "result":
      return [...session, ...readResult(state, entry)];
    default:
      return entry["subtype"] === "api_retry" ? [...session, { type: "retry", message: retryOf(entry) }] : session;
  }
}

function sessionOf(state: State, entry: Json): CliEvent[] {
  const id = textAt(entry, "session_id");
  const isInit = entry["subtype"] === "init";
  if (id === "" || (id === state.session && (state.hasModel || !isInit))) return [];
  state.session = id;
  state.hasModel ||= isInit;
  const [model, version] = [textAt(entry, "model"), textAt(entry, "claude_code_version")];
  return [{ type: "session", id, ...(isInit && model !== "" ? { model } : {}), ...(version === "" ? {} : { version }) }];
}

function readStream(state: State, above: string, event: Json | undefined): CliEvent[] {
  const open = state.open.get(above);
  switch (event?.["type"]) {
    case "message_start": {
      const closed = close(state, above);
      const message = objectAt(event, "message");
      state.open.set(above, { ...startOf(message), isStreamed: true });
      return closed;
    }
    case "content_block_delta": {
      const delta = objectAt(event, "delta");
      const [text, thinking] = [textAt(delta, "text"), textAt(delta, "thinking")];
      if (text !== "") return wrap(above, [{ type: "text.delta", text }]);
      return thinking === "" ? [] : wrap(above, [{ type: "thinking.delta", text: thinking }]);
    }
    case "message_delta":
      state.isRefused = textAt(objectAt(event, "delta"), "stop_reason") === "refusal";
      if (open !== undefined) open.usage = usageOf(objectAt(event, "usage"), open.begun);
      return [];
    case "message_stop":
      return close(state, above);
    default:
      return [];
  }
}

/** One block of a message, or what Claude Code itself says in place of one when a request has failed. */
function readAssistant(state: State, above: string, entry: Json): CliEvent[] {
  const message = objectAt(entry, "message");
  if (textAt(message, "model") === "<synthetic>" || entry["is_api_error_message"] === true) {
    if (entry["is_api_error_message"] !== true) return [];
    const said = textOf(contentParts(message?.["content"]));
    const trouble = { message: said, ...kindOf(entry, said) };
    if (above !== "") return wrap(above, [{ type: "failed", ...trouble }]);
    state.trouble = trouble;
    return [];
  }
  const known = state.open.get(above);
  const isSame = known !== undefined && known.id === textAt(message, "id");
  const closed = isSame ? [] : close(state, above);
  const open = isSame ? known : startOf(message);
  state.open.set(above, open);
  const parts = listAt(message, "content").flatMap(partOf);
  for (const part of parts) if (part.kind === "call") state.names.set(`${above} ${part.id}`, part.name);
  open.parts.push(...parts);
  return closed;
}

/** A block carries the usage of the message's beginning, unless the message came whole. */
function startOf(message: Json | undefined): Message {
  const begun = usageOf(objectAt(message, "usage"), zeroUsage);
  return {
    id: textAt(message, "id"),
    model: textAt(message, "model"),
    parts: [],
    begun,
    usage: textAt(message, "stop_reason") === "" ? null : begun,
    isStreamed: false,
    waiting: [],
  };
}

function partOf(block: Json): Part[] {
  switch (block["type"]) {
    case "tool_use":
      return [callOf(block)];
    case "thinking":
      return textAt(block, "thinking") === "" ? [] : [{ kind: "thinking", text: textAt(block, "thinking") }];
    case "text":
      return textAt(block, "text") === "" ? [] : [{ kind: "text", text: textAt(block, "text") }];
    default:
      return [];
  }
}

function callOf(block: Json): CallPart {
  const input = objectAt(block, "input") ?? {};
  const raw = objectAt(input, "__unparsedToolInput");
  const named = { kind: "call" as const, id: textAt(block, "id"), name: textAt(block, "name") };
  return raw === undefined ? { ...named, input } : { ...named, input: {}, malformed: textAt(raw, "raw") };
}

function readUser(state: State, above: string, message: Json | undefined): CliEvent[] {
  const results = listAt(message, "content").filter((block) => block["type"] === "tool_result");
  if (results.length === 0) return [];
  const below = results.flatMap((block) => close(state, textAt(block, "tool_use_id") || "?"));
  const events = wrap(
    above,
    results.map((block) => resultOf(state, above, block)),
  );
  const open = state.open.get(above);
  if (open?.isStreamed === true) {
    open.waiting.push(...below, ...events);
    return [];
  }
  return [...below, ...close(state, above), ...events];
}

function resultOf(state: State, above: string, block: Json): CliEvent {
  const call = textAt(block, "tool_use_id");
  const key = `${above} ${call}`;
  const parts = contentParts(block["content"]);
  const images = parts.flatMap((part): ImageData[] => (part.kind === "image" ? [{ mime: part.mime, base64: part.base64 }] : []));
  const name = state.names.get(key) ?? "unknown";
  state.names.delete(key);
  const isError = block["is_error"] === true;
  return { type: "result", call, name, text: textOf(parts), isError, ...(images.length === 0 ? {} : { images }) };
}

/** The answer that is complete now, and the results that waited for it. */
function close(state: State, above: string): CliEvent[] {
  const message = state.open.get(above);
  state.open.delete(above);
  if (message === undefined) return [];
  if (message.parts.length === 0) return message.waiting;
  if (above === "") state.hasAnswer = true;
  const { parts, model, usage } = message;
  const answer: CliEvent = { type: "answer", parts, ...(usage === null ? {} : { usage }), ...(model === "" ? {} : { model }) };
  return [...wrap(above, [answer]), ...message.waiting];
}

/** Sub-agents first: their calls are answered above them. */
function closeAll(state: State): CliEvent[] {
  return [...state.open.keys()].sort((a, b) => b.length - a.length).flatMap((above) => close(state, above));
}

function wrap(above: string, events: CliEvent[]): CliEvent[] {
  return above === "" ? events : events.map((event) => ({ type: "below", call: above, event }));
}

function readResult(state: State, entry: Json): CliEvent[] {
  const events = closeAll(state);
  const text = textAt(entry, "result");
  const isError = entry["is_error"] === true || textAt(entry, "subtype").startsWith("error");
  const isRefused = state.isRefused || entry["stop_reason"] === "refusal";
  // Its `--output-format json` has no messages: then this is the answer.
  if (!isError && !state.hasAnswer && text !== "") events.push({ type: "answer", parts: [{ kind: "text", text }] });
  events.push(...totalOf(entry));
  state.trouble = null;
  if (!isError && !isRefused) return [...events, { type: "done", isError: false, answer: text }];
  const said = text || listOf(entry["errors"]).join("\n") || (isRefused ? "the model refused" : textAt(entry, "subtype"));
  events.push({ type: "failed", message: said, ...(isRefused ? { kind: "refused" } : kindOf(entry, said)) });
  return [...events, { type: "done", isError: true, message: said }];
}

/**
 * `usage` leaves sub-agents out; `modelUsage` and the cost have them, but after a resume they count the whole session,
 * which only versions that also tell the difference do.
 */
function totalOf(entry: Json): CliEvent[] {
  const models = objectAt(entry, "model_usage_since_last_result") ?? objectAt(entry, "modelUsage") ?? {};
  const rows = Object.values(models).filter(isJson);
  if (rows.length === 0) return [];
  const usage = rows.map(modelUsage).reduce(addUsage, zeroUsage);
  const costUsd = rows.reduce((sum, row) => sum + (numberAt(row, "costUSD") ?? 0), 0);
  const raw = { usage: entry["usage"], modelUsage: entry["modelUsage"], model_usage_since_last_result: models };
  return [{ type: "usage", usage, isThreadTotal: false, costUsd, raw }];
}

function modelUsage(row: Json): Usage {
  return {
    input: numberAt(row, "inputTokens") ?? 0,
    output: numberAt(row, "outputTokens") ?? 0,
    cacheRead: numberAt(row, "cacheReadInputTokens") ?? 0,
    cacheWrite: numberAt(row, "cacheCreationInputTokens") ?? 0,
  };
}

function usageOf(usage: Json | undefined, before: Usage): Usage {
  return {
    input: numberAt(usage, "input_tokens") ?? before.input,
    output: numberAt(usage, "output_tokens") ?? before.output,
    cacheRead: numberAt(usage, "cache_read_input_tokens") ?? before.cacheRead,
    cacheWrite: numberAt(usage, "cache_creation_input_tokens") ?? before.cacheWrite,
  };
}

/** An error says "success" in its subtype; what it was stands in other fields. Nothing when they don't tell. */
function kindOf(entry: Json, said: string): { kind?: TurnStatus } {
  const status = numberAt(entry, "api_error_status");
  if (entry["terminal_reason"] === "prompt_too_long" || said.startsWith("Prompt is too long")) return { kind: "too-long" };
  if (said === "Credit balance is too low") return { kind: "rate-limited" };
  if (entry["api_error"] === "connection_failed") return { kind: "network" };
  if (/^error_max_(turns|budget_usd)$/.test(textAt(entry, "subtype"))) return { kind: "budget" };
  if (status === undefined) return {};
  return { kind: statuses[status] ?? (status >= 500 ? "overloaded" : "broken") };
}

const statuses: Record<number, TurnStatus> = { 401: "auth", 403: "auth", 413: "too-long", 429: "rate-limited" };

function retryOf(entry: Json): string {
  const [attempt, most] = [numberAt(entry, "attempt") ?? 0, numberAt(entry, "max_retries") ?? 0];
  const status = numberAt(entry, "error_status");
  const seconds = ((numberAt(entry, "retry_delay_ms") ?? 0) / 1000).toFixed(1);
  return `${textAt(entry, "error") || "unknown"}${status === undefined ? "" : ` (${status})`}: try ${attempt} of ${most} in ${seconds} s`;
}

function textOf(parts: Part[]): string {
  return parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
