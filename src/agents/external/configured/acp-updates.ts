// What an ACP agent reports of its turn (`session/update`): text, thinking, calls and their results, its plan. A call
// becomes known bit by bit; its message is told when one of its calls has ended or the next message begins.
import { isJson, type Json, listAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { CallPart, ImageData, Part } from "../../../protocol/tree/node.ts";
import type { CliEvent } from "../adapters/adapter.ts";

type Call = { id: string; name: string; title: string; input: Json; content: Json[]; output: unknown };

export class AcpUpdates {
  hasAnswered = false;
  #message = "";
  #text = "";
  #thinking = "";
  /** Of the message that is being said. */
  #calls: Call[] = [];
  /** Of messages that were told, until their results are. */
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

  /** A call that needs a permission may be told by its question first. The decision stands beside the call. */
  permission(call: Json, isAllowed: boolean): CliEvent[] {
    const known = this.#known(call);
    const text = `asked for permission: ${known.title || known.name}; ${isAllowed ? "allowed, it is behind the walls of this turn" : "not allowed"}`;
    return [...this.flush(), { type: "below", call: known.id, event: { type: "answer", parts: [{ kind: "text", text }] } }];
  }

  /** The message so far, as one answer. */
  flush(): CliEvent[] {
    const parts: Part[] = [
      ...(this.#thinking === "" ? [] : [{ kind: "thinking" as const, text: this.#thinking }]),
      ...(this.#text === "" ? [] : [{ kind: "text" as const, text: this.#text }]),
      ...this.#calls.map(callPart),
    ];
    for (const call of this.#calls) this.#open.set(call.id, call);
    if (this.#text.trim() !== "") this.hasAnswered = true;
    this.#text = "";
    this.#thinking = "";
    this.#calls = [];
    return parts.length === 0 ? [] : [{ type: "answer", parts }];
  }

  #chunk(update: Json, kind: "text" | "thinking"): CliEvent[] {
    const text = textAt(objectAt(update, "content"), "text");
    if (text === "") return [];
    const message = textAt(update, "messageId");
    const isNext = this.#calls.length > 0 || (message !== "" && this.#message !== "" && message !== this.#message);
    const before = isNext ? this.flush() : [];
    this.#message = message;
    if (kind === "text") this.#text += text;
    else this.#thinking += text;
    return [...before, { type: kind === "text" ? "text.delta" : "thinking.delta", text }];
  }

  #call(update: Json): CliEvent[] {
    const call = this.#known(update);
    const status = textAt(update, "status");
    if (status !== "completed" && status !== "failed") return [];
    const told = this.#open.has(call.id) ? [] : this.flush();
    this.#open.delete(call.id);
    return [...told, resultOf(call, status === "failed")];
  }

  /** The call as it is known by now. */
  #known(update: Json): Call {
    const id = textAt(update, "toolCallId");
    const known = this.#calls.find((call) => call.id === id) ?? this.#open.get(id);
    const call = known ?? { id, name: nameOf(update), title: "", input: {}, content: [], output: undefined };
    if (known === undefined) this.#calls.push(call);
    call.title = textAt(update, "title") || call.title;
    call.input = objectAt(update, "rawInput") ?? call.input;
    if (Array.isArray(update["content"])) call.content = listAt(update, "content");
    call.output = update["rawOutput"] ?? call.output;
    return call;
  }

  /** Kept with its thinking: it is no message, and another agent has plans of its own. */
  #plan(entries: Json[]): CliEvent[] {
    const marks: Record<string, string> = { completed: "x", in_progress: "-" };
    const lines = entries.map((entry) => `[${marks[textAt(entry, "status")] ?? " "}] ${textAt(entry, "content")}`);
    if (lines.length === 0) return [];
    const text = `Plan:\n${lines.join("\n")}\n`;
    this.#thinking += text;
    return [{ type: "thinking.delta", text }];
  }
}

/** The first title is often the tool's own name; otherwise there is only its kind. */
function nameOf(update: Json): string {
  const title = textAt(update, "title");
  return /^[\w.-]+$/.test(title) ? title : textAt(update, "kind") || "tool";
}

function callPart({ id, name, title, input }: Call): CallPart {
  const known = Object.keys(input).length > 0 || title === "" || title === name ? input : { title };
  return { kind: "call", id, name, input: known };
}

function resultOf({ id, name, content, output }: Call, isError: boolean): CliEvent {
  const text =
    content
      .map(contentText)
      .filter((each) => each !== "")
      .join("\n") || outputText(output);
  const images = content.flatMap(imageIn);
  return { type: "result", call: id, name, text, isError, ...(images.length === 0 ? {} : { images }) };
}

function contentText(item: Json): string {
  if (item["type"] === "diff") return `changed ${textAt(item, "path")}`;
  return textAt(objectAt(item, "content"), "text");
}

function outputText(output: unknown): string {
  if (typeof output === "string") return output;
  if (!isJson(output)) return output === undefined || output === null ? "" : JSON.stringify(output);
  return textAt(output, "output") || textAt(output, "error") || JSON.stringify(output);
}

function imageIn(item: Json): ImageData[] {
  const image = objectAt(item, "content");
  return image?.["type"] === "image" ? [{ mime: textAt(image, "mimeType"), base64: textAt(image, "data") }] : [];
}
