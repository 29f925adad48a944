// The OpenAI Responses wire. The vendor stores nothing; encrypted reasoning is sent with each request.
import type { Part, ResultPart } from "../../protocol/tree/node.ts";
import type { Endpoint, ModelRequest, ServerEvent, Wire, WireEvent } from "../model.ts";
import type { Json } from "../../kit/text/json.ts";
import { countAt, listAt, numberAt, objectAt, textAt } from "./json.ts";
import { failed, JsonReader } from "./json-reader.ts";
import { bodyWithItems, writeItems } from "./kept-items.ts";
import { type AssistantSide, fitCallId, imageUrl, opaqueOf, parseCall, type UserSide } from "./parts.ts";

export const openaiResponses: Wire = {
  name: "openai-responses",
  request: writeRequest,
  reader: (model) => new ResponsesReader("openai-responses", model),
};

function writeRequest(request: ModelRequest, endpoint: Endpoint): ReturnType<Wire["request"]> {
  const canReason = !/^(ft:)?(gpt-[34]|chatgpt-4)|-chat(-latest)?$/.test(request.model);
  const { text } = writeItems(request, endpoint, {
    wire: "openai-responses",
    writeSide: (side) => (side.role === "assistant" ? writeAssistant(side) : writeUser(side)),
  });
  const fields = {
    model: request.model,
    stream: true,
    store: false,
    ...(canReason && { include: ["reasoning.encrypted_content"] }),
    ...(canReason && request.effort && { reasoning: { effort: request.effort, summary: "auto" } }),
    ...(request.maxOutputTokens !== null && { max_output_tokens: request.maxOutputTokens }),
    ...(request.temperature != null && { temperature: request.temperature }),
    prompt_cache_key: request.cacheKey,
    ...(request.tools.length > 0 && { tools: request.tools.map((tool) => ({ type: "function", ...tool, strict: false })) }),
    ...(request.system !== "" && { instructions: request.system }),
  };
  return {
    url: `${endpoint.baseUrl.replace(/\/+$/, "")}/responses`,
    headers: endpoint.apiKey === "" ? {} : { authorization: `Bearer ${endpoint.apiKey}` },
    body: bodyWithItems(fields, "input", text),
  };
}

function writeAssistant(side: AssistantSide): Json[] {
  return side.parts.map((part) => {
    if (part.kind === "thinking") return { type: "reasoning", ...opaqueOf(part) };
    if (part.kind === "call") {
      return { type: "function_call", call_id: fitCallId(part.id), name: part.name, arguments: JSON.stringify(part.input) };
    }
    return { role: "assistant", content: [{ type: "output_text", text: part.text }], ...opaqueOf(part) };
  });
}

function writeUser(side: UserSide): Json[] {
  const items: Json[] = side.results.map(writeResult);
  const content = side.content.map((part) =>
    part.kind === "text" ? { type: "input_text", text: part.text } : { type: "input_image", image_url: imageUrl(part) },
  );
  if (content.length > 0) items.push({ role: "user", content });
  return items;
}

function writeResult(result: ResultPart): Json {
  const images = result.images ?? [];
  const text = result.text === "" ? [] : [{ type: "input_text", text: result.text }];
  const output =
    images.length === 0 ? result.text : [...text, ...images.map((image) => ({ type: "input_image", image_url: imageUrl(image) }))];
  return { type: "function_call_output", call_id: fitCallId(result.call), output };
}

/** An output item while it streams. `final` is the complete item, from the event that ends it. */
type Item = { type: string; id: string; name: string; text: string; final: Json | undefined };

class ResponsesReader extends JsonReader {
  readonly #items = new Map<number, Item>();

  override push(event: ServerEvent): WireEvent[] {
    return event.data === "[DONE]" ? [] : super.push(event);
  }

  protected readEvent(data: Json, event: string): WireEvent[] {
    const index = numberAt(data, "output_index") ?? 0;
    const item = this.#items.get(index);
    switch (textAt(data, "type") || event) {
      case "response.output_item.added":
        return this.#start(index, objectAt(data, "item"));
      case "response.output_text.delta":
      case "response.refusal.delta":
        return addDelta(item, "text.delta", textAt(data, "delta"));
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return addDelta(item, "thinking.delta", textAt(data, "delta"));
      case "response.reasoning_summary_part.added":
        return item && item.text !== "" ? addDelta(item, "thinking.delta", "\n\n") : [];
      case "response.function_call_arguments.delta":
        if (item) item.text += textAt(data, "delta");
        return [];
      case "response.output_item.done":
        return this.#close(index, objectAt(data, "item"));
      case "response.completed":
      case "response.incomplete":
        return this.#end(objectAt(data, "response"));
      case "response.failed":
        return failedBy(objectAt(objectAt(data, "response"), "error"));
      case "error":
        return failedBy(objectAt(data, "error") ?? data);
      default:
        return [];
    }
  }

  #start(index: number, content: Json | undefined): WireEvent[] {
    const type = textAt(content, "type");
    const item: Item = { type, id: textAt(content, "call_id"), name: textAt(content, "name"), text: "", final: undefined };
    this.#items.set(index, item);
    return type === "function_call" ? [{ type: "call.started", call: item.id, name: item.name }] : [];
  }

  /** The finished item is authoritative. It replaces the text of its deltas. */
  #close(index: number, content: Json | undefined): WireEvent[] {
    if (!content) return [];
    const events = this.#items.has(index) ? [] : this.#start(index, content);
    const item = this.#items.get(index)!;
    item.final = content;
    const streamed = item.text;
    if (item.type === "function_call") item.text = textAt(content, "arguments") || streamed;
    if (item.type === "message") {
      const text = listAt(content, "content")
        .map((piece) => textAt(piece, "text") || textAt(piece, "refusal"))
        .join("");
      if (streamed === "" && text !== "") events.push({ type: "text.delta", text });
      item.text = text || streamed;
    }
    return events;
  }

  #end(response: Json | undefined): WireEvent[] {
    const usage = objectAt(response, "usage");
    const details = objectAt(usage, "input_tokens_details");
    const cached = { read: countAt(details, "cached_tokens"), write: countAt(details, "cache_write_tokens") };
    this.countTokens(countAt(usage, "input_tokens") ?? 0, countAt(usage, "output_tokens") ?? 0, cached);
    const reason = textAt(objectAt(response, "incomplete_details"), "reason");
    this.stop = reason === "content_filter" || this.#hasRefusal() ? "refused" : reason === "" ? "end" : "length";
    return [];
  }

  #hasRefusal(): boolean {
    return [...this.#items.values()].some((item) => listAt(item.final, "content").some((piece) => piece.type === "refusal"));
  }

  protected parts(isFinished: boolean): Part[] {
    return [...this.#items.values()].flatMap((item): Part[] => {
      if (item.type === "function_call") return isFinished || item.final ? [parseCall(item.id, item.name, item.text)] : [];
      if (item.type === "message") {
        const phase = textAt(item.final, "phase");
        const opaque = phase === "" ? {} : { opaque: this.opaque({ phase }) };
        return item.text === "" ? [] : [{ kind: "text", text: item.text, ...opaque }];
      }
      if (item.type !== "reasoning") return [];
      const encrypted = textAt(item.final, "encrypted_content");
      if (encrypted === "") return item.text === "" ? [] : [{ kind: "thinking", text: item.text }];
      const data = { id: textAt(item.final, "id"), summary: listAt(item.final, "summary"), encrypted_content: encrypted };
      return [{ kind: "thinking", text: item.text, opaque: this.opaque(data) }];
    });
  }
}

function addDelta(item: Item | undefined, type: "text.delta" | "thinking.delta", text: string): WireEvent[] {
  if (!item || text === "") return [];
  item.text += text;
  return [{ type, text }];
}

function failedBy(error: Json | undefined): WireEvent[] {
  return failed({ status: null, code: textAt(error, "code") || textAt(error, "type"), message: textAt(error, "message") });
}
