// Reads a Chat Completions stream. Accepts fields that vendors omit, repeat or name differently.
import type { Part } from "../../protocol/tree/node.ts";
import type { VendorError, ServerEvent, StopReason, WireEvent } from "../model.ts";
import { isRecord, type Json } from "../../kit/text/json.ts";
import { countAt, listAt, numberAt, objectAt, parseJson, textAt } from "./json.ts";
import { failed, JsonReader } from "./json-reader.ts";
import { makeCallId, parseCall } from "./parts.ts";

type Call = { key: number | null; id: string; name: string; text: string };

const stops: Record<string, StopReason> = { length: "length", model_length: "length", content_filter: "refused" };

export class ChatReader extends JsonReader {
  #text = "";
  #thinking = "";
  #hasReasoningContent = false;
  #details: Json[] = [];
  #calls: Call[] = [];
  #refused = false;
  #ended = false;

  override push(event: ServerEvent): WireEvent[] {
    if (event.data !== "[DONE]") return super.push(event);
    this.#ended = true;
    if (this.stop === null) this.#finishWith("end");
    return [];
  }

  protected readEvent(data: Json, event: string): WireEvent[] {
    const problem = problemOf(data, event);
    if (problem) return failed(problem);
    this.#count(objectAt(data, "usage") ?? objectAt(objectAt(data, "x_groq"), "usage"));
    const choice = listAt(data, "choices")[0];
    if (!choice) return [];
    const events = this.#addDelta(objectAt(choice, "delta") ?? objectAt(choice, "message"));
    const reason = textAt(choice, "finish_reason");
    if (reason === "error" || reason === "insufficient_system_resource") {
      events.push(...failed({ status: null, code: "overloaded_error", message: "the server stopped in the middle of its answer" }));
    } else if (reason !== "") this.#finishWith(stops[reason] ?? "end");
    return events;
  }

  /** The usage follows the finish reason, so only the last event ends the answer. */
  override ended(): boolean {
    return this.#ended;
  }

  #finishWith(stop: StopReason): void {
    this.stop = this.#refused ? "refused" : stop;
  }

  #addDelta(delta: Json | undefined): WireEvent[] {
    if (!delta) return [];
    const events: WireEvent[] = [];
    this.#addThinking(delta, events);
    if (Array.isArray(delta.content)) this.#addPieces(listAt(delta, "content"), events);
    else this.#addText(textAt(delta, "content"), events);
    const refusal = textAt(delta, "refusal");
    if (refusal !== "") this.#refused = true;
    this.#addText(refusal, events);
    for (const call of listAt(delta, "tool_calls")) this.#addCall(call, events);
    return events;
  }

  #addThinking(delta: Json, events: WireEvent[]): void {
    const content = textAt(delta, "reasoning_content");
    if (content !== "") this.#hasReasoningContent = true;
    const thought = content || textAt(delta, "reasoning");
    for (const detail of listAt(delta, "reasoning_details")) this.#addDetail(detail);
    if (thought === "") return;
    this.#thinking += thought;
    events.push({ type: "thinking.delta", text: thought });
  }

  /** Reasoning details arrive in pieces of one index and type. They must be sent back joined. */
  #addDetail(detail: Json): void {
    const last = this.#details.at(-1);
    if (!last || last.type !== detail.type || last.index !== detail.index) {
      this.#details.push({ ...detail });
      return;
    }
    for (const [key, value] of Object.entries(detail)) {
      const isText = key === "text" || key === "summary" || key === "data";
      if (isText && typeof value === "string") last[key] = textAt(last, key) + value;
      else if (value !== null && value !== undefined) last[key] = value;
    }
  }

  #addPieces(pieces: Json[], events: WireEvent[]): void {
    for (const piece of pieces) {
      if (piece.type === "thinking") {
        const thought = listAt(piece, "thinking")
          .map((inner) => textAt(inner, "text"))
          .join("");
        this.#thinking += thought;
        if (thought !== "") events.push({ type: "thinking.delta", text: thought });
      } else this.#addText(textAt(piece, "text"), events);
    }
  }

  #addText(text: string, events: WireEvent[]): void {
    if (text === "") return;
    this.#text += text;
    events.push({ type: "text.delta", text });
  }

  #addCall(piece: Json, events: WireEvent[]): void {
    const key = numberAt(piece, "index") ?? null;
    const id = textAt(piece, "id");
    const name = textAt(objectAt(piece, "function"), "name");
    const args = objectAt(piece, "function")?.arguments;
    const text = typeof args === "string" ? args : isRecord(args) ? JSON.stringify(args) : "";
    const open = this.#findCall(key, id, name);
    if (open) {
      open.text += text;
      open.name ||= name;
      return;
    }
    const call: Call = { key, id: id || makeCallId(), name, text };
    this.#calls.push(call);
    events.push({ type: "call.started", call: call.id, name: call.name });
  }

  #findCall(key: number | null, id: string, name: string): Call | undefined {
    const last = this.#calls.at(-1);
    // Without index and id, a name after complete arguments starts the next call.
    if (key === null && id === "") return last && name !== "" && parseJson(last.text) ? undefined : last;
    if (key === null) return this.#calls.find((call) => call.id === id);
    // Some servers send the index 0 with every parallel call, and only the ids differ.
    return this.#calls.findLast((call) => call.key === key && (id === "" || call.id === id));
  }

  #count(usage: Json | undefined): void {
    if (!usage) return;
    const prompt = countAt(usage, "prompt_tokens") ?? 0;
    const details = objectAt(usage, "prompt_tokens_details");
    const cached = {
      read: countAt(details, "cached_tokens") ?? countAt(usage, "prompt_cache_hit_tokens"),
      write: countAt(details, "cache_write_tokens"),
    };
    // Some vendors count reasoning separately from the completion. Only the total has both.
    const outputOfTotal = (countAt(usage, "total_tokens") ?? 0) - prompt;
    this.countTokens(prompt, Math.max(countAt(usage, "completion_tokens") ?? 0, outputOfTotal), cached);
  }

  /** A call is complete when the next call starts or the finish reason arrives. The wire has no other mark. */
  protected parts(isFinished: boolean): Part[] {
    const calls = isFinished || this.stop !== null ? this.#calls : this.#calls.slice(0, -1);
    const parts: Part[] = [];
    const data: Json = {
      ...(this.#hasReasoningContent && { field: "reasoning_content" }),
      ...(this.#details.length > 0 && { reasoning_details: this.#details }),
    };
    const isOpaque = Object.keys(data).length > 0;
    if (this.#thinking !== "" || isOpaque) {
      const opaque = isOpaque ? { opaque: this.opaque(data) } : {};
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
