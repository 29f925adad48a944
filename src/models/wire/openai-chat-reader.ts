// Reads a Chat Completions stream, with what vendors leave out, repeat or call otherwise.
import type { Part } from "../../protocol/tree/node.ts";
import { zeroUsage, type Usage } from "../../protocol/tree/usage.ts";
import type { VendorError, ServerEvent, StopReason, WireEvent, WireReader } from "../model.ts";
import { isRecord } from "../../kit/text/json.ts";
import { type Json, listAt, numberAt, objectAt, parseJson, textAt } from "./json.ts";
import { parseCall, makeCallId, notJson, stopReasonFor } from "./parts.ts";

type Call = { key: number | null; id: string; name: string; text: string };

const stops: Record<string, StopReason> = { length: "length", model_length: "length", content_filter: "refused" };

export class ChatReader implements WireReader {
  readonly #model: string;
  #text = "";
  #thinking = "";
  #hasReasoningContent = false;
  #details: Json[] = [];
  #calls: Call[] = [];
  #usage: Usage = zeroUsage;
  #stop: StopReason | null = null;
  #refused = false;
  #done = false;

  constructor(model: string) {
    this.#model = model;
  }

  push(event: ServerEvent): WireEvent[] {
    if (event.data === "[DONE]") {
      this.#done = true;
      return [];
    }
    const data = parseJson(event.data);
    if (!data) return [{ type: "failed", problem: notJson }];
    const problem = problemOf(data, event.event);
    if (problem) return [{ type: "failed", problem }];
    this.#count(objectAt(data, "usage") ?? objectAt(objectAt(data, "x_groq"), "usage"));
    const choice = listAt(data, "choices")[0];
    if (!choice) return [];
    const events = this.#grow(objectAt(choice, "delta") ?? objectAt(choice, "message"));
    const reason = textAt(choice, "finish_reason");
    if (reason === "error" || reason === "insufficient_system_resource") {
      events.push({
        type: "failed",
        problem: { status: null, code: "overloaded_error", message: "the server gave up in the middle of its answer" },
      });
    } else if (reason !== "") this.#stop = stops[reason] ?? "end";
    return events;
  }

  finish(): ReturnType<WireReader["finish"]> {
    if (this.#stop === null && !this.#done) return null;
    const parts = this.#parts(this.#calls);
    const stop = this.#refused ? "refused" : (this.#stop ?? "end");
    return { parts, usage: this.#usage, stop: stopReasonFor(stop, parts) };
  }

  /** The wire does not say when a call is whole: all are when the finish reason came, and before the next began. */
  partial(): { parts: Part[]; usage: Usage } {
    const whole = this.#stop === null ? this.#calls.slice(0, -1) : this.#calls;
    return { parts: this.#parts(whole), usage: this.#usage };
  }

  ended(): boolean {
    return this.#done;
  }

  #grow(delta: Json | undefined): WireEvent[] {
    if (!delta) return [];
    const events: WireEvent[] = [];
    this.#think(delta, events);
    if (Array.isArray(delta.content)) this.#pieces(listAt(delta, "content"), events);
    else this.#say(textAt(delta, "content"), events);
    const refusal = textAt(delta, "refusal");
    if (refusal !== "") this.#refused = true;
    this.#say(refusal, events);
    for (const call of listAt(delta, "tool_calls")) this.#call(call, events);
    return events;
  }

  #think(delta: Json, events: WireEvent[]): void {
    const content = textAt(delta, "reasoning_content");
    if (content !== "") this.#hasReasoningContent = true;
    const thought = content || textAt(delta, "reasoning");
    for (const detail of listAt(delta, "reasoning_details")) this.#detail(detail);
    if (thought === "") return;
    this.#thinking += thought;
    events.push({ type: "thinking.delta", text: thought });
  }

  /** Reasoning details come in pieces that belong together by index and type, and must go back whole. */
  #detail(detail: Json): void {
    const last = this.#details.at(-1);
    if (!last || last.type !== detail.type || last.index !== detail.index) {
      this.#details.push({ ...detail });
      return;
    }
    for (const [key, value] of Object.entries(detail)) {
      const grows = key === "text" || key === "summary" || key === "data";
      if (grows && typeof value === "string") last[key] = textAt(last, key) + value;
      else if (value !== null && value !== undefined) last[key] = value;
    }
  }

  #pieces(pieces: Json[], events: WireEvent[]): void {
    for (const piece of pieces) {
      if (piece.type === "thinking") {
        const thought = listAt(piece, "thinking")
          .map((inner) => textAt(inner, "text"))
          .join("");
        this.#thinking += thought;
        if (thought !== "") events.push({ type: "thinking.delta", text: thought });
      } else this.#say(textAt(piece, "text"), events);
    }
  }

  #say(text: string, events: WireEvent[]): void {
    if (text === "") return;
    this.#text += text;
    events.push({ type: "text.delta", text });
  }

  #call(piece: Json, events: WireEvent[]): void {
    const key = numberAt(piece, "index") ?? null;
    const id = textAt(piece, "id");
    const of = objectAt(piece, "function");
    const given = of?.arguments;
    const text = typeof given === "string" ? given : isRecord(given) ? JSON.stringify(given) : "";
    const known = this.#known(key, id, textAt(of, "name"));
    if (known) {
      known.text += text;
      known.name ||= textAt(of, "name");
      return;
    }
    const call: Call = { key, id: id || makeCallId(), name: textAt(of, "name"), text };
    this.#calls.push(call);
    events.push({ type: "call.started", call: call.id, name: call.name });
  }

  #known(key: number | null, id: string, name: string): Call | undefined {
    const last = this.#calls.at(-1);
    // Without index and id, a name after arguments that are whole begins the next call.
    if (key === null && id === "") return last && name !== "" && parseJson(last.text) ? undefined : last;
    if (key === null) return this.#calls.find((call) => call.id === id);
    // Some servers give every parallel call the index 0, each with an id of its own.
    return this.#calls.findLast((call) => call.key === key && (id === "" || call.id === id));
  }

  #count(usage: Json | undefined): void {
    if (!usage) return;
    const prompt = numberAt(usage, "prompt_tokens") ?? 0;
    const details = objectAt(usage, "prompt_tokens_details");
    const cacheRead = numberAt(details, "cached_tokens") ?? numberAt(usage, "prompt_cache_hit_tokens") ?? 0;
    const cacheWrite = numberAt(details, "cache_write_tokens") ?? 0;
    // Some count reasoning beside the completion, and only the total has both.
    const beside = (numberAt(usage, "total_tokens") ?? 0) - prompt;
    this.#usage = {
      input: Math.max(0, prompt - cacheRead - cacheWrite),
      output: Math.max(numberAt(usage, "completion_tokens") ?? 0, beside),
      cacheRead,
      cacheWrite,
    };
  }

  #parts(calls: Call[]): Part[] {
    const parts: Part[] = [];
    const data: Json = {
      ...(this.#hasReasoningContent && { field: "reasoning_content" }),
      ...(this.#details.length > 0 && { reasoning_details: this.#details }),
    };
    const isOpaque = Object.keys(data).length > 0;
    if (this.#thinking !== "" || isOpaque) {
      const opaque = isOpaque ? { opaque: { wire: "openai-chat", model: this.#model, data } } : {};
      parts.push({ kind: "thinking", text: this.#thinking, ...opaque });
    }
    if (this.#text !== "") parts.push({ kind: "text", text: this.#text });
    for (const call of calls) parts.push(parseCall(call.id, call.name, call.text));
    return parts;
  }
}

function problemOf(data: Json, event: string): VendorError | null {
  const error = objectAt(data, "error");
  if (!error && typeof data.error !== "string" && event !== "error") return null;
  const code = error?.code;
  const status = typeof code === "number" && code >= 400 && code < 600 ? code : null;
  return {
    status,
    code: textAt(error, "code") || textAt(error, "type"),
    message: textAt(error, "message") || textAt(data, "error") || textAt(data, "message"),
  };
}
