// Reads the output of `codex exec --json`. It prints items, not messages: the items between two results are one answer.
// A resumed thread may begin with items of earlier turns; only those after the last start of a turn count.
import { isRecord, type Json } from "../../../../kit/text/json.ts";
import { listAt, numberAt, objectAt, textAt } from "../../../../models/wire/json.ts";
import type { CallPart, Part } from "../../../../protocol/tree/node.ts";
import type { Usage } from "../../../../protocol/tree/usage.ts";
import type { CliEvent, CliLaunch, CliReader } from "../adapter.ts";
import { plainMessage } from "../failure-patterns.ts";
import { garbageEvent, parseJsonLine } from "./json-line.ts";

type State = {
  /** Makes ids unique: Codex counts from zero in every run. */
  suffix: string;
  /** Parts of the current answer. */
  parts: Part[];
  /** Names of the running tools by call. */
  running: Map<string, string>;
  answer: string;
  todoCount: number;
  /** Events that may belong to an earlier turn; null once the current turn is certain. */
  pending: CliEvent[] | null;
  error: string;
};

export function codexReader(start?: CliLaunch["start"], suffix = crypto.randomUUID().slice(-8)): CliReader {
  const mayRepeat = start !== undefined && start.how !== "new";
  const state: State = { suffix, parts: [], running: new Map(), answer: "", todoCount: 0, pending: mayRepeat ? [] : null, error: "" };
  return {
    line: (text) => {
      const value = parseJsonLine(text);
      return isRecord(value) && textAt(value, "type") !== "" ? readEntry(state, value) : garbageEvent(text);
    },
    // Earlier turns are repeated without a pause. A pause means that the current turn waits for its model.
    quiet: () => [...release(state), ...(state.running.size > 0 ? close(state) : [])],
    end: () => {
      const events = [...release(state), ...close(state)];
      return state.error === "" ? events : [...events, { type: "failed", message: plainMessage(state.error) }];
    },
  };
}

function readEntry(state: State, entry: Json): CliEvent[] {
  const item = objectAt(entry, "item");
  switch (entry["type"]) {
    case "thread.started":
      return [{ type: "session", id: textAt(entry, "thread_id") }];
    case "turn.started":
      return beginTurn(state);
    case "item.started":
    case "item.updated":
      return queue(state, item === undefined ? [] : readStarted(state, item));
    case "item.completed":
      return queue(state, item === undefined ? [] : readCompleted(state, item));
    case "turn.completed":
      return queue(state, [...close(state), ...totalOf(objectAt(entry, "usage")), { type: "done", isError: false, answer: state.answer }]);
    case "turn.failed":
      return queue(state, readFailed(state, textAt(objectAt(entry, "error"), "message") || state.error));
    case "error":
      return queue(state, readError(state, textAt(entry, "message")));
    default:
      return [];
  }
}

function beginTurn(state: State): CliEvent[] {
  state.parts = [];
  state.running.clear();
  state.answer = "";
  state.error = "";
  if (state.pending !== null) state.pending = [];
  return [];
}

function queue(state: State, events: CliEvent[]): CliEvent[] {
  if (state.pending === null) return events;
  state.pending.push(...events);
  return [];
}

function release(state: State): CliEvent[] {
  const events = state.pending ?? [];
  state.pending = null;
  return events;
}

/** Adds a running call to the current answer. More calls may follow, so the answer waits for a result or a pause. */
function readStarted(state: State, item: Json): CliEvent[] {
  const id = idOf(state, item);
  if (item["type"] === "todo_list") return readTodoList(state, item);
  if (isText(item) || state.running.has(id)) return [];
  const call = callOf(id, item);
  state.parts.push(call);
  state.running.set(id, call.name);
  return [];
}

/** Codex prints its one list again at every change. Each time becomes a finished call. */
function readTodoList(state: State, item: Json): CliEvent[] {
  state.todoCount += 1;
  const [call, name] = [`${idOf(state, item)}-${state.todoCount}`, "todo_list"];
  state.parts.push({ kind: "call", id: call, name, input: { items: listAt(item, "items") } });
  return [...close(state), { type: "result", call, name, text: "noted", isError: false }];
}

function readCompleted(state: State, item: Json): CliEvent[] {
  const text = textAt(item, "text");
  switch (item["type"]) {
    case "agent_message":
      if (text === "") return [];
      state.parts.push({ kind: "text", text });
      state.answer = text;
      return [{ type: "text.delta", text }];
    case "reasoning":
      if (text === "") return [];
      state.parts.push({ kind: "thinking", text });
      return [{ type: "thinking.delta", text }];
    case "error":
    case "todo_list":
      return [];
    default: {
      readStarted(state, item);
      const call = idOf(state, item);
      const name = state.running.get(call) ?? "unknown";
      state.running.delete(call);
      return [...close(state), { type: "result", call, name, ...outcomeOf(item) }];
    }
  }
}

/** True for items that are no call. An `error` item is a warning and not part of the answer. */
function isText(item: Json): boolean {
  return ["agent_message", "reasoning", "error"].includes(textAt(item, "type"));
}

function close(state: State): CliEvent[] {
  const { parts } = state;
  state.parts = [];
  return parts.length === 0 ? [] : [{ type: "answer", parts }];
}

function idOf(state: State, item: Json): string {
  return `${textAt(item, "id")}-${state.suffix}`;
}

function callOf(id: string, item: Json): CallPart {
  const name = textAt(item, "type");
  switch (name) {
    case "command_execution":
      return { kind: "call", id, name, input: { command: textAt(item, "command") } };
    case "file_change":
      return { kind: "call", id, name, input: { changes: listAt(item, "changes") } };
    case "mcp_tool_call":
      return { kind: "call", id, name: `${textAt(item, "server")}.${textAt(item, "tool")}`, input: objectAt(item, "arguments") ?? {} };
    default: {
      const { id: _, type: __, status: ___, ...input } = item;
      return { kind: "call", id, name, input };
    }
  }
}

function outcomeOf(item: Json): { text: string; isError: boolean } {
  const isError = item["status"] === "failed" || item["status"] === "declined";
  const code = numberAt(item, "exit_code");
  switch (item["type"]) {
    case "command_execution": {
      const output = textAt(item, "aggregated_output");
      return { text: code === undefined || code === 0 ? output : appendLine(output, `exit code ${code}`), isError };
    }
    case "file_change":
      return {
        text: listAt(item, "changes")
          .map((change) => `${textAt(change, "kind")} ${textAt(change, "path")}`)
          .join("\n"),
        isError,
      };
    case "mcp_tool_call": {
      const texts = listAt(objectAt(item, "result"), "content").map((block) => textAt(block, "text"));
      return { text: textAt(objectAt(item, "error"), "message") || texts.filter((text) => text !== "").join("\n"), isError };
    }
    default:
      return { text: textAt(item, "result"), isError };
  }
}

function appendLine(output: string, line: string): string {
  return output === "" || output.endsWith("\n") ? output + line : `${output}\n${line}`;
}

/** `error` entries are both retries and the error that ends the turn. */
function readError(state: State, message: string): CliEvent[] {
  if (/^Reconnecting\b/.test(message)) return [{ type: "retry", message }];
  state.error = message;
  return [];
}

function readFailed(state: State, error: string): CliEvent[] {
  const message = plainMessage(error);
  state.error = "";
  return [...close(state), { type: "failed", message }, { type: "done", isError: true, message }];
}

/** Codex reports the total of the thread, including turns before a fork. Its input includes cached tokens. */
function totalOf(raw: Json | undefined): CliEvent[] {
  if (raw === undefined) return [];
  const cacheRead = numberAt(raw, "cached_input_tokens") ?? 0;
  const cacheWrite = numberAt(raw, "cache_write_input_tokens") ?? 0;
  const input = Math.max(0, (numberAt(raw, "input_tokens") ?? 0) - cacheRead - cacheWrite);
  const usage: Usage = { input, output: numberAt(raw, "output_tokens") ?? 0, cacheRead, cacheWrite };
  return [{ type: "usage", usage, isThreadTotal: true, raw }];
}
