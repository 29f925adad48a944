// Reads the updates of an ACP agent (`session/update`): text, thinking, calls with results, and its plan. The data of a
// call comes in pieces, so a message is complete when one of its calls has ended or the next message begins.
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { listAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { CallPart } from "../../../protocol/tree/node.ts";
import type { CliEvent } from "../adapters/adapter.ts";
import { AnswerBuilder } from "../adapters/readers/answer-builder.ts";
import { resultContent } from "../import/parts.ts";

type Call = { id: string; name: string; title: string; input: Json; content: Json[]; output: unknown };

export class AcpUpdates {
  /** Whether any message had text. */
  hasAnswered = false;
  /** Id of the current message; empty if the agent sends no ids. */
  #message = "";
  readonly #answer = new AnswerBuilder();
  /** Calls of the current message. */
  #calls: Call[] = [];
  /** Calls of earlier messages that have no result yet. */
  readonly #open = new Map<string, Call>();

  read(update: Json): CliEvent[] {
    switch (update["sessionUpdate"]) {
      case "agent_message_chunk":
        return this.#chunk(update, "text");
      case "agent_thought_chunk":
        return this.#chunk(update, "thinking");
      case "tool_call":
      case "tool_call_update":
        return this.#call(update);
      case "plan":
        return this.#plan(listAt(update, "entries"));
      default:
        return [];
    }
  }

  /** Records a permission request beside its call. The request may be the first mention of the call. */
  permission(call: Json, isAllowed: boolean): CliEvent[] {
    const { id, title, name } = this.#update(call);
    const text = `permission requested: ${title || name}; ${isAllowed ? "allowed, because the turn is sandboxed" : "not allowed"}`;
    return [...this.flush(), { type: "sub-agent", call: id, event: { type: "answer", parts: [{ kind: "text", text }] } }];
  }

  /** Ends the current message and returns it as one answer. */
  flush(): CliEvent[] {
    this.#answer.add(...this.#calls.map(callPart));
    for (const call of this.#calls) this.#open.set(call.id, call);
    this.#calls = [];
    return this.#answer.flush();
  }

  #chunk(update: Json, kind: "text" | "thinking"): CliEvent[] {
    const text = textAt(objectAt(update, "content"), "text");
    if (text === "") return [];
    const message = textAt(update, "messageId");
    const isNext = this.#calls.length > 0 || (message !== "" && this.#message !== "" && message !== this.#message);
    const before = isNext ? this.flush() : [];
    this.#message = message;
    if (kind === "text" && text.trim() !== "") this.hasAnswered = true;
    return [...before, ...this.#answer.appendText(kind, text)];
  }

  #call(update: Json): CliEvent[] {
    const call = this.#update(update);
    const status = textAt(update, "status");
    if (status !== "completed" && status !== "failed") return [];
    const answer = this.#open.has(call.id) ? [] : this.flush();
    this.#open.delete(call.id);
    return [...answer, resultOf(call, status === "failed")];
  }

  /** Adds the data of an update to its call. */
  #update(update: Json): Call {
    const id = textAt(update, "toolCallId");
    const existing = this.#calls.find((call) => call.id === id) ?? this.#open.get(id);
    const call = existing ?? { id, name: nameOf(update), title: "", input: {}, content: [], output: undefined };
    if (existing === undefined) this.#calls.push(call);
    call.title = textAt(update, "title") || call.title;
    call.input = objectAt(update, "rawInput") ?? call.input;
    if (Array.isArray(update["content"])) call.content = listAt(update, "content");
    call.output = update["rawOutput"] ?? call.output;
    return call;
  }

  /** Stored as thinking: a plan is no message, and another agent makes its own plan. */
  #plan(entries: Json[]): CliEvent[] {
    const marks: Record<string, string> = { completed: "x", in_progress: "-" };
    const lines = entries.map((entry) => `[${marks[textAt(entry, "status")] ?? " "}] ${textAt(entry, "content")}`);
    return lines.length === 0 ? [] : this.#answer.appendText("thinking", `Plan:\n${lines.join("\n")}\n`);
  }
}

/** The first title is often the tool's name. Otherwise the kind of the tool is used. */
function nameOf(update: Json): string {
  const title = textAt(update, "title");
  return /^[\w.-]+$/.test(title) ? title : textAt(update, "kind") || "tool";
}

function callPart({ id, name, title, input }: Call): CallPart {
  const hasInput = Object.keys(input).length > 0 || title === "" || title === name;
  return { kind: "call", id, name, input: hasInput ? input : { title } };
}

function resultOf({ id, name, content, output }: Call, isError: boolean): CliEvent {
  const blocks = content.map((item) => (item["type"] === "diff" ? { text: `changed ${textAt(item, "path")}` } : item["content"]));
  const { text, images } = resultContent(blocks);
  return { type: "result", call: id, name, text: text || outputText(output), isError, images };
}

function outputText(output: unknown): string {
  if (typeof output === "string") return output;
  if (!isRecord(output)) return output === undefined || output === null ? "" : JSON.stringify(output);
  return textAt(output, "output") || textAt(output, "error") || JSON.stringify(output);
}
