// Reads the output of `codex exec --json`. It prints items, not messages: the items between two results are one answer.
// A resumed thread may begin with items of earlier turns; only those after the last start of a turn count.
import type { Json } from "../../../../kit/text/json.ts";
import { listAt, numberAt, objectAt, textAt } from "../../../../models/wire/json.ts";
import type { CallPart } from "../../../../protocol/tree/node.ts";
import { codexUsage } from "../../import/codex.ts";
import type { CliEvent, CliLaunch, CliReader } from "../adapter.ts";
import { plainMessage } from "../failure-patterns.ts";
import { AnswerBuilder } from "./answer-builder.ts";
import { readEventLine } from "./json-line.ts";

type State = {
  /** Added to the ids of calls, which Codex counts from zero in every run. */
  suffix: string;
  answer: AnswerBuilder;
  /** Names of the running tools by call. */
  running: Map<string, string>;
  lastText: string;
  todoCount: number;
  /** Events that may belong to an earlier turn; null once the current turn is certain. */
  pending: CliEvent[] | null;
  error: string;
};

export function codexReader(start?: CliLaunch["start"], suffix = crypto.randomUUID().slice(-8)): CliReader {
  const pending = start === undefined || start.how === "new" ? null : [];
  const state: State = { suffix, answer: new AnswerBuilder(), running: new Map(), lastText: "", todoCount: 0, pending, error: "" };
  return {
    line: (text) => readEventLine(text, (entry) => readEntry(state, entry)),
    // Earlier turns are repeated without a pause. A pause means that the current turn waits for its model.
    quiet: () => [...release(state), ...(state.running.size > 0 ? state.answer.flush() : [])],
    end: () => {
      const events = [...release(state), ...state.answer.flush()];
      return state.error === "" ? events : [...events, { type: "failed", message: plainMessage(state.error) }];
    },
  };
}

function readEntry(state: State, entry: Json): CliEvent[] {
  const item = objectAt(entry, "item") ?? {};
  switch (entry["type"]) {
    case "thread.started":
      return [{ type: "session", id: textAt(entry, "thread_id") }];
    case "turn.started":
      return beginTurn(state);
    case "item.started":
    case "item.updated":
      return queue(state, readStarted(state, item));
    case "item.completed":
      return queue(state, readCompleted(state, item));
    case "turn.completed":
      return queue(state, [...state.answer.flush(), ...totalOf(objectAt(entry, "usage")), { type: "done", answer: state.lastText }]);
    case "turn.failed": {
      const message = plainMessage(textAt(objectAt(entry, "error"), "message") || state.error);
      state.error = "";
      return queue(state, [...state.answer.flush(), { type: "failed", message }]);
    }
    case "error":
      return queue(state, readError(state, textAt(entry, "message")));
    default:
      return [];
  }
}

function beginTurn(state: State): CliEvent[] {
  state.answer = new AnswerBuilder();
  state.running.clear();
  state.lastText = "";
  state.error = "";
  if (state.pending !== null) state.pending = [];
  return [];
}

/** Returns the events, or stores them while they may belong to an earlier turn. */
function queue(state: State, events: CliEvent[]): CliEvent[] {
  if (state.pending === null) return events;
  state.pending.push(...events);
  return [];
}

/** Returns the stored events. They belong to the current turn, and so do all later ones. */
function release(state: State): CliEvent[] {
  const events = state.pending ?? [];
  state.pending = null;
  return events;
}

/** Adds a running call to the current answer. More calls may follow, so the answer waits for a result or a pause. */
function readStarted(state: State, item: Json): CliEvent[] {
  const id = idOf(state, item);
  if (item["type"] === "todo_list") return readTodoList(state, item);
  if (!isCall(item) || state.running.has(id)) return [];
  const call = callOf(id, item);
  state.answer.add(call);
  state.running.set(id, call.name);
  return [];
}

/** Codex prints its to-do list again at every change. Each printed list becomes a call with a result. */
function readTodoList(state: State, item: Json): CliEvent[] {
  state.todoCount += 1;
  const [call, name] = [`${idOf(state, item)}-${state.todoCount}`, "todo_list"];
  state.answer.add({ kind: "call", id: call, name, input: { items: listAt(item, "items") } });
  return [...state.answer.flush(), { type: "result", call, name, text: "noted", isError: false }];
}

function readCompleted(state: State, item: Json): CliEvent[] {
  const text = textAt(item, "text");
  switch (item["type"]) {
    case "agent_message":
      state.lastText = text || state.lastText;
      return state.answer.addText("text", text);
    case "reasoning":
      return state.answer.addText("thinking", text);
    case undefined:
    case "error":
    case "todo_list":
      return [];
    default: {
      readStarted(state, item);
      const call = idOf(state, item);
      const name = state.running.get(call) ?? "unknown";
      state.running.delete(call);
      return [...state.answer.flush(), { type: "result", call, name, ...outcomeOf(item) }];
    }
  }
}

/** An `error` item is a warning and not part of the answer. */
function isCall(item: Json): boolean {
  return !["", "agent_message", "reasoning", "error"].includes(textAt(item, "type"));
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
  return { text: outcomeText(item), isError: item["status"] === "failed" || item["status"] === "declined" };
}

function outcomeText(item: Json): string {
  switch (item["type"]) {
    case "command_execution": {
      const output = textAt(item, "aggregated_output");
      const code = numberAt(item, "exit_code") ?? 0;
      if (code === 0) return output;
      return `${output}${output === "" || output.endsWith("\n") ? "" : "\n"}exit code ${code}`;
    }
    case "file_change":
      return joinLines(listAt(item, "changes").map((change) => `${textAt(change, "kind")} ${textAt(change, "path")}`));
    case "mcp_tool_call": {
      const texts = listAt(objectAt(item, "result"), "content").map((block) => textAt(block, "text"));
      return textAt(objectAt(item, "error"), "message") || joinLines(texts);
    }
    default:
      return textAt(item, "result");
  }
}

function joinLines(texts: string[]): string {
  return texts.filter((text) => text !== "").join("\n");
}

/** `error` entries are both retries and the error that ends the turn. */
function readError(state: State, message: string): CliEvent[] {
  if (/^Reconnecting\b/.test(message)) return [{ type: "retry", message }];
  state.error = message;
  return [];
}

/** Codex reports the total of the thread, including turns before a fork. */
function totalOf(usage: Json | undefined): CliEvent[] {
  return usage === undefined ? [] : [{ type: "usage", usage: codexUsage(usage), isThreadTotal: true }];
}
