// What Codex prints with `exec --json`. It tells items, not messages: what stands between two rounds of results is one
// answer. Items of a resumed thread may begin with earlier turns: only those after the last start of a turn count.
import { isJson, type Json, listAt, numberAt, objectAt, textAt } from "../../../../models/wire/json.ts";
import type { CallPart, Part } from "../../../../protocol/tree/node.ts";
import type { Usage } from "../../../../protocol/tree/usage.ts";
import type { CliEvent, CliLaunch, CliReader } from "../adapter.ts";
import { plainMessage } from "../failure-patterns.ts";
import { garbageEvent, parseJsonLine } from "./json-line.ts";

type State = {
  /** Its ids begin anew with every run: what makes them differ. */
  mark: string;
  /** Of the answer that is not complete. */
  parts: Part[];
  /** Names of tools by call that runs. */
  running: Map<string, string>;
  answer: string;
  lists: number;
  /** What was said and may still be of an earlier turn; null once it is known to be of this one. */
  held: CliEvent[] | null;
  trouble: string;
};

export function codexReader(start?: CliLaunch["start"], mark = crypto.randomUUID().slice(-8)): CliReader {
  const mayRepeat = start !== undefined && start.how !== "new";
  const state: State = { mark, parts: [], running: new Map(), answer: "", lists: 0, held: mayRepeat ? [] : null, trouble: "" };
  return {
    line: (text) => {
      const value = parseJsonLine(text);
      return isJson(value) && textAt(value, "type") !== "" ? readEntry(state, value) : garbageEvent(text);
    },
    // An earlier turn is repeated in one go; only a turn that waits for its model leaves a pause.
    quiet: () => [...release(state), ...(state.running.size > 0 ? close(state) : [])],
    end: () => {
      const events = [...release(state), ...close(state)];
      return state.trouble === "" ? events : [...events, { type: "failed", message: plainMessage(state.trouble) }];
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
      return tell(state, item === undefined ? [] : readStarted(state, item));
    case "item.completed":
      return tell(state, item === undefined ? [] : readCompleted(state, item));
    case "turn.completed":
      return tell(state, [...close(state), ...totalOf(objectAt(entry, "usage")), { type: "done", isError: false, answer: state.answer }]);
    case "turn.failed":
      return tell(state, readFailed(state, textAt(objectAt(entry, "error"), "message") || state.trouble));
    case "error":
      return tell(state, readError(state, textAt(entry, "message")));
    default:
      return [];
  }
}

function beginTurn(state: State): CliEvent[] {
  state.parts = [];
  state.running.clear();
  state.answer = "";
  state.trouble = "";
  if (state.held !== null) state.held = [];
  return [];
}

function tell(state: State, events: CliEvent[]): CliEvent[] {
  if (state.held === null) return events;
  state.held.push(...events);
  return [];
}

function release(state: State): CliEvent[] {
  const events = state.held ?? [];
  state.held = null;
  return events;
}

/** A call that runs; calls of one answer may follow, so that the answer waits for a result or a pause. */
function readStarted(state: State, item: Json): CliEvent[] {
  const id = idOf(state, item);
  if (item["type"] === "todo_list") return readList(state, item);
  if (isSaid(item) || state.running.has(id)) return [];
  const call = callOf(id, item);
  state.parts.push(call);
  state.running.set(id, call.name);
  return [];
}

/** One item for the whole turn, told again at every change: each is a call that is done. */
function readList(state: State, item: Json): CliEvent[] {
  state.lists += 1;
  const [call, name] = [`${idOf(state, item)}-${state.lists}`, "todo_list"];
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

/** A warning (`error` is one, as an item) is none of the answer. */
function isSaid(item: Json): boolean {
  return ["agent_message", "reasoning", "error"].includes(textAt(item, "type"));
}

function close(state: State): CliEvent[] {
  const { parts } = state;
  state.parts = [];
  return parts.length === 0 ? [] : [{ type: "answer", parts }];
}

function idOf(state: State, item: Json): string {
  return `${textAt(item, "id")}-${state.mark}`;
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
      return { text: code === undefined || code === 0 ? output : joined(output, `exit code ${code}`), isError };
    }
    case "file_change":
      return {
        text: listAt(item, "changes")
          .map((change) => `${textAt(change, "kind")} ${textAt(change, "path")}`)
          .join("\n"),
        isError,
      };
    case "mcp_tool_call": {
      const said = listAt(objectAt(item, "result"), "content").map((block) => textAt(block, "text"));
      return { text: textAt(objectAt(item, "error"), "message") || said.filter((text) => text !== "").join("\n"), isError };
    }
    default:
      return { text: textAt(item, "result"), isError };
  }
}

function joined(output: string, last: string): string {
  return output === "" || output.endsWith("\n") ? output + last : `${output}\n${last}`;
}

/** Notices of another try come under the same name as what ends the turn. */
function readError(state: State, message: string): CliEvent[] {
  if (/^Reconnecting\b/.test(message)) return [{ type: "retry", message }];
  state.trouble = message;
  return [];
}

function readFailed(state: State, said: string): CliEvent[] {
  const message = plainMessage(said);
  state.trouble = "";
  return [...close(state), { type: "failed", message }, { type: "done", isError: true, message }];
}

/** The sum over the thread, before a fork included; the input contains what was cached. */
function totalOf(raw: Json | undefined): CliEvent[] {
  if (raw === undefined) return [];
  const cacheRead = numberAt(raw, "cached_input_tokens") ?? 0;
  const cacheWrite = numberAt(raw, "cache_write_input_tokens") ?? 0;
  const input = Math.max(0, (numberAt(raw, "input_tokens") ?? 0) - cacheRead - cacheWrite);
  const usage: Usage = { input, output: numberAt(raw, "output_tokens") ?? 0, cacheRead, cacheWrite };
  return [{ type: "usage", usage, isThreadTotal: true, raw }];
}
