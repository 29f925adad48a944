// Reads the output of Claude Code: JSON lines, or one JSON value. A message is printed block by block, and its usage last.
// Sub-agents print on the same stream; their entries name the call that started them (`parent_tool_use_id`).
import { isRecord, type Json } from "../../../../kit/text/json.ts";
import { plausibleReset } from "../../../../models/limits/reset-time.ts";
import { countAt, listAt, numberAt, objectAt, textAt } from "../../../../models/wire/json.ts";
import type { TurnStatus } from "../../../../protocol/api/error.ts";
import type { Part } from "../../../../protocol/tree/node.ts";
import { addUsage, zeroUsage, type Usage } from "../../../../protocol/tree/usage.ts";
import type { CliEvent, CliReader } from "../adapter.ts";
import { statusFailure } from "../failure-patterns.ts";
import { claudeParts, claudeUsage } from "../../import/claude.ts";
import { resultContent, usageAt } from "../../import/parts.ts";
import { garbageEvent, parseJsonLine } from "./json-line.ts";

type Message = {
  id: string;
  model: string;
  parts: Part[];
  /** Usage at the start of the message. */
  initialUsage: Usage;
  /** Final usage; null until the end of the message. */
  usage: Usage | null;
  /** True if an event will mark the end of the message. */
  isStreamed: boolean;
  /** Results that were printed before the end of the message. They are returned after its answer. */
  pending: CliEvent[];
};

type State = {
  session: string;
  hasModel: boolean;
  hasAnswer: boolean;
  /** Open messages by the call that started the sub-agent; "" is Claude itself. */
  open: Map<string, Message>;
  /** Names of called tools. The key is the parent call, a space and the id of the call. */
  names: Map<string, string>;
  isRefused: boolean;
  /** An error message that was printed instead of an answer. It is reported only if no `result` follows. */
  error: Extract<CliEvent, { type: "failed" }> | null;
};

export function claudeReader(): CliReader {
  const state: State = {
    session: "",
    hasModel: false,
    hasAnswer: false,
    open: new Map(),
    names: new Map(),
    isRefused: false,
    error: null,
  };
  return {
    line: (text) => {
      const value = parseJsonLine(text);
      const entries = (Array.isArray(value) ? value : [value]).filter(isRecord);
      if (!Array.isArray(value) && textAt(entries[0], "type") === "") return garbageEvent(text);
      return entries.flatMap((entry) => [...sessionOf(state, entry), ...readEntry(state, entry)]);
    },
    end: () => [...closeAll(state), ...(state.error === null ? [] : [state.error])],
  };
}

function readEntry(state: State, entry: Json): CliEvent[] {
  const parentCall = textAt(entry, "parent_tool_use_id");
  switch (entry["type"]) {
    case "stream_event":
      return readStream(state, parentCall, objectAt(entry, "event"));
    case "assistant":
      return readAssistant(state, parentCall, entry);
    case "user":
      return readUser(state, parentCall, objectAt(entry, "message"));
    case "result":
      return readResult(state, entry);
    case "rate_limit_event":
      return readLimit(objectAt(entry, "rate_limit_info"));
    default:
      return entry["subtype"] === "api_retry" ? [{ type: "retry", message: retryOf(entry) }] : [];
  }
}

/** With a subscription Claude Code reports its windows. `resetsAt` counts seconds. */
function readLimit(info: Json | undefined): CliEvent[] {
  const resetAt = plausibleReset((numberAt(info, "resetsAt") ?? Number.NaN) * 1000, Date.now());
  return textAt(info, "status") === "rejected" && resetAt !== undefined ? [{ type: "limit", resetAt }] : [];
}

function sessionOf(state: State, entry: Json): CliEvent[] {
  const id = textAt(entry, "session_id");
  const isInit = entry["subtype"] === "init";
  if (id === "" || (id === state.session && (state.hasModel || !isInit))) return [];
  state.session = id;
  state.hasModel ||= isInit;
  const model = isInit ? textAt(entry, "model") : "";
  return [{ type: "session", id, model: model || undefined, version: textAt(entry, "claude_code_version") || undefined }];
}

function readStream(state: State, parentCall: string, event: Json | undefined): CliEvent[] {
  const open = state.open.get(parentCall);
  switch (event?.["type"]) {
    case "message_start": {
      const closed = close(state, parentCall);
      const message = objectAt(event, "message");
      state.open.set(parentCall, { ...newMessage(message), isStreamed: true });
      return closed;
    }
    case "content_block_delta": {
      const delta = objectAt(event, "delta");
      const [text, thinking] = [textAt(delta, "text"), textAt(delta, "thinking")];
      if (text !== "") return wrap(parentCall, [{ type: "text.delta", text }]);
      return thinking === "" ? [] : wrap(parentCall, [{ type: "thinking.delta", text: thinking }]);
    }
    case "message_delta":
      state.isRefused = textAt(objectAt(event, "delta"), "stop_reason") === "refusal";
      if (open !== undefined) open.usage = claudeUsage(objectAt(event, "usage"), open.initialUsage);
      return [];
    case "message_stop":
      return close(state, parentCall);
    default:
      return [];
  }
}

/** Reads one block of a message, or an error message of Claude Code itself after a failed request. */
function readAssistant(state: State, parentCall: string, entry: Json): CliEvent[] {
  const message = objectAt(entry, "message");
  if (entry["is_api_error_message"] === true) {
    const { text } = resultContent(message?.["content"]);
    const error = { type: "failed" as const, message: text, kind: kindOf(entry, text) };
    if (parentCall !== "") return wrap(parentCall, [error]);
    state.error = error;
    return [];
  }
  if (textAt(message, "model") === "<synthetic>") return [];
  const current = state.open.get(parentCall);
  const isSame = current !== undefined && current.id === textAt(message, "id");
  const closed = isSame ? [] : close(state, parentCall);
  const open = isSame ? current : newMessage(message);
  state.open.set(parentCall, open);
  const parts = claudeParts(message);
  for (const part of parts) if (part.kind === "call") state.names.set(`${parentCall} ${part.id}`, part.name);
  open.parts.push(...parts);
  return closed;
}

/** The usage of a block is the one at the start of the message, unless the message came as a whole. */
function newMessage(message: Json | undefined): Message {
  const initialUsage = claudeUsage(objectAt(message, "usage"));
  return {
    id: textAt(message, "id"),
    model: textAt(message, "model"),
    parts: [],
    initialUsage,
    usage: textAt(message, "stop_reason") === "" ? null : initialUsage,
    isStreamed: false,
    pending: [],
  };
}

function readUser(state: State, parentCall: string, message: Json | undefined): CliEvent[] {
  const results = listAt(message, "content").filter((block) => block["type"] === "tool_result");
  if (results.length === 0) return [];
  const subAgents = results.flatMap((block) => close(state, textAt(block, "tool_use_id") || "?"));
  const events = wrap(
    parentCall,
    results.map((block) => resultOf(state, parentCall, block)),
  );
  const open = state.open.get(parentCall);
  if (open?.isStreamed === true) {
    open.pending.push(...subAgents, ...events);
    return [];
  }
  return [...subAgents, ...close(state, parentCall), ...events];
}

function resultOf(state: State, parentCall: string, block: Json): CliEvent {
  const call = textAt(block, "tool_use_id");
  const key = `${parentCall} ${call}`;
  const name = state.names.get(key) ?? "unknown";
  state.names.delete(key);
  return { type: "result", call, name, isError: block["is_error"] === true, ...resultContent(block["content"]) };
}

/** Ends the current message. Returns its answer, and the results that waited for it. */
function close(state: State, parentCall: string): CliEvent[] {
  const message = state.open.get(parentCall);
  state.open.delete(parentCall);
  if (message === undefined) return [];
  if (message.parts.length === 0) return message.pending;
  if (parentCall === "") state.hasAnswer = true;
  const { parts, model, usage } = message;
  const answer: CliEvent = { type: "answer", parts, usage: usage ?? undefined, model: model || undefined };
  return [...wrap(parentCall, [answer]), ...message.pending];
}

/** Ends the messages of sub-agents before that of Claude itself, whose key is empty. */
function closeAll(state: State): CliEvent[] {
  return [...state.open.keys()].sort((a, b) => b.length - a.length).flatMap((parentCall) => close(state, parentCall));
}

/** Marks events of a sub-agent with the call that started it. */
function wrap(parentCall: string, events: CliEvent[]): CliEvent[] {
  return parentCall === "" ? events : events.map((event) => ({ type: "sub-agent", call: parentCall, event }));
}

function readResult(state: State, entry: Json): CliEvent[] {
  const events = closeAll(state);
  const text = textAt(entry, "result");
  const isError = entry["is_error"] === true || textAt(entry, "subtype").startsWith("error");
  const isRefused = state.isRefused || entry["stop_reason"] === "refusal";
  // With `--output-format json` there are no messages, and this text is the answer.
  if (!isError && !state.hasAnswer && text !== "") events.push({ type: "answer", parts: [{ kind: "text", text }] });
  events.push(...totalOf(entry));
  state.error = null;
  if (!isError && !isRefused) return [...events, { type: "done", answer: text }];
  const errors = [entry["errors"]].flat().filter((item) => typeof item === "string");
  const message = text || errors.join("\n") || (isRefused ? "the model refused" : textAt(entry, "subtype"));
  return [...events, { type: "failed", message, kind: isRefused ? "refused" : kindOf(entry, message) }];
}

/**
 * `usage` excludes sub-agents; `modelUsage` and the cost include them. In newer versions those count the whole session
 * after a resume, and `model_usage_since_last_result` has the difference.
 */
function totalOf(entry: Json): CliEvent[] {
  const models = objectAt(entry, "model_usage_since_last_result") ?? objectAt(entry, "modelUsage") ?? {};
  const counts = Object.values(models).filter(isRecord);
  if (counts.length === 0) return [];
  const usage = counts.map((count) => usageAt(count, modelUsageKeys)).reduce(addUsage, zeroUsage);
  const costUsd = counts.reduce((sum, count) => sum + (countAt(count, "costUSD") ?? 0), 0);
  return [{ type: "usage", usage, costUsd }];
}

const modelUsageKeys = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];

/** Classifies an error by its other fields, because its subtype may be "success". Null if unknown. */
function kindOf(entry: Json, message: string): TurnStatus | null {
  if (entry["terminal_reason"] === "prompt_too_long" || message.startsWith("Prompt is too long")) return "too-long";
  if (message === "Credit balance is too low") return "rate-limited";
  if (entry["api_error"] === "connection_failed") return "network";
  if (/^error_max_(turns|budget_usd)$/.test(textAt(entry, "subtype"))) return "budget";
  const status = numberAt(entry, "api_error_status");
  return status === undefined ? null : (statusFailure(status) ?? "broken");
}

function retryOf(entry: Json): string {
  const [attempt, maxAttempts] = [numberAt(entry, "attempt") ?? 0, numberAt(entry, "max_retries") ?? 0];
  const status = numberAt(entry, "error_status");
  const seconds = ((numberAt(entry, "retry_delay_ms") ?? 0) / 1000).toFixed(1);
  return `${textAt(entry, "error") || "unknown"}${status === undefined ? "" : ` (${status})`}: try ${attempt} of ${maxAttempts} in ${seconds} s`;
}
