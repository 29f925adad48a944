// The Anthropic Messages wire: cache breakpoints, signed thinking, streamed tool input.
import type { Part, ResultPart } from "../../protocol/tree/node.ts";
import type { Effort, Endpoint, ModelRequest, StopReason, Wire, WireEvent } from "../model.ts";
import type { Json } from "../../kit/text/json.ts";
import { countAt, listAt, numberAt, objectAt, textAt } from "./json.ts";
import { failed, JsonReader } from "./json-reader.ts";
import { bodyWithItems, writeItems } from "./kept-items.ts";
import { type AssistantSide, fitCallId, type MessageSide, opaqueOf, parseCall, type UserSide } from "./parts.ts";

export const anthropic: Wire = {
  name: "anthropic",
  request: writeRequest,
  reader: (model) => new AnthropicReader("anthropic", model),
};

const breakpoint = { type: "ephemeral" };

function writeRequest(request: ModelRequest, endpoint: Endpoint): ReturnType<Wire["request"]> {
  const maxTokens = request.maxOutputTokens ?? outputLimit(request.model);
  const { text, lastSides } = writeItems(request, endpoint, { wire: "anthropic", writeSide, finish: setBreakpoints });
  const thinking = thinkingFor(request, maxTokens, lastSides);
  const fields = {
    model: request.model,
    max_tokens: maxTokens,
    stream: true,
    ...thinking,
    // The API refuses a temperature together with thinking.
    ...(request.temperature != null && !("thinking" in thinking) && { temperature: request.temperature }),
    ...(request.tools.length > 0 && { tools: writeTools(request) }),
    ...(request.system !== "" && { system: [{ type: "text", text: request.system, cache_control: breakpoint }] }),
  };
  return {
    url: `${endpoint.baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "")}/v1/messages`,
    headers: {
      "anthropic-version": "2023-06-01",
      ...(endpoint.apiKey !== "" && !("authorization" in endpoint.headers) && { "x-api-key": endpoint.apiKey }),
    },
    body: bodyWithItems(fields, "messages", text),
  };
}

/** The API requires a limit. Older model families refuse one above their own. */
function outputLimit(model: string): number {
  if (/^claude-(2|instant|3-(opus|sonnet|haiku))/.test(model)) return 4096;
  if (model.startsWith("claude-3-5")) return 8192;
  return 32_000;
}

const budgets: Record<Effort, number> = { low: 2048, medium: 8192, high: 16_384, xhigh: 30_000 };

/** Current models take an effort, models up to 4.5 a token budget, and models before 3.7 do not think. */
function thinkingFor({ model, effort }: ModelRequest, maxTokens: number, sides: MessageSide[]): Json {
  if (effort === null || /^claude-(2|instant|3-(5|opus|sonnet|haiku))/.test(model)) return {};
  const takesBudget = /^claude-3-7|^claude-(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|-latest)?$/.test(model);
  if (takesBudget) {
    const budget = Math.min(budgets[effort], maxTokens - 1024);
    return budget < 1024 || !canThink(sides) ? {} : { thinking: { type: "enabled", budget_tokens: budget } };
  }
  const supported = effort === "xhigh" && /-4-6/.test(model) ? "high" : effort;
  return { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: supported } };
}

/** With a budget, an answer that continues after results must begin with thinking. An answer of another model may begin without it. */
function canThink(sides: MessageSide[]): boolean {
  const [answer, results] = sides.slice(-2);
  if (results?.role !== "user" || results.results.length === 0) return true;
  return answer?.role !== "assistant" || answer.parts[0]?.kind === "thinking";
}

function writeTools(request: ModelRequest): Json[] {
  const tools: Json[] = request.tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    input_schema: tool.parameters,
  }));
  const last = tools.at(-1);
  if (last) last.cache_control = breakpoint;
  return tools;
}

function writeSide(side: MessageSide): Json[] {
  return side.role === "assistant"
    ? [{ role: "assistant", content: side.parts.map(writeAssistant) }]
    : [{ role: "user", content: writeUser(side) }];
}

/** One breakpoint at the end, and one at the end of the previous request: the vendor looks up its cached prefix there. */
function setBreakpoints(messages: Json[]): void {
  for (const message of messages.filter(({ role }) => role === "user").slice(-2)) {
    const block = listAt(message, "content").at(-1);
    if (block) block.cache_control = breakpoint;
  }
}

function writeAssistant(part: AssistantSide["parts"][number]): Json {
  if (part.kind === "text") return { type: "text", text: part.text };
  if (part.kind === "call") return { type: "tool_use", id: fitCallId(part.id), name: part.name, input: part.input };
  const data = opaqueOf(part);
  if (data && "redacted" in data) return { type: "redacted_thinking", data: data.redacted };
  return { type: "thinking", thinking: part.text, signature: data?.signature };
}

function writeUser(side: UserSide): Json[] {
  const content = side.content.map((part) => (part.kind === "text" ? { type: "text", text: part.text } : writeImage(part)));
  return [...side.results.map(writeResult), ...content];
}

function writeResult(result: ResultPart): Json {
  const images = result.images ?? [];
  const text = result.text.trim() === "" ? [] : [{ type: "text", text: result.text }];
  const content = images.length > 0 ? [...text, ...images.map(writeImage)] : result.text;
  return {
    type: "tool_result",
    tool_use_id: fitCallId(result.call),
    ...(content !== "" && { content }),
    ...(result.isError && { is_error: true }),
  };
}

function writeImage(image: { mime: string; base64: string }): Json {
  return { type: "image", source: { type: "base64", media_type: image.mime, data: image.base64 } };
}

type Block = { type: string; id: string; name: string; text: string; signature: string; isComplete: boolean };

const stops: Record<string, StopReason> = {
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "refused",
};

class AnthropicReader extends JsonReader {
  readonly #blocks = new Map<number, Block>();
  #stopReason: StopReason | null = null;

  protected readEvent(data: Json): WireEvent[] {
    const index = numberAt(data, "index") ?? 0;
    const block = this.#blocks.get(index);
    switch (textAt(data, "type")) {
      case "message_start":
        this.#count(objectAt(objectAt(data, "message"), "usage"));
        return [];
      case "content_block_start":
        return this.#start(index, objectAt(data, "content_block"));
      case "content_block_delta":
        return block ? addDelta(block, objectAt(data, "delta")) : [];
      case "content_block_stop":
        if (block) block.isComplete = true;
        return [];
      case "message_delta":
        this.#count(objectAt(data, "usage"));
        this.#stopReason = stops[textAt(objectAt(data, "delta"), "stop_reason")] ?? "end";
        return [];
      case "message_stop":
        this.stop = this.#stopReason;
        return [];
      case "error": {
        const error = objectAt(data, "error");
        return failed({ status: null, code: textAt(error, "type"), message: textAt(error, "message") });
      }
      default:
        return [];
    }
  }

  #start(index: number, content: Json | undefined): WireEvent[] {
    const type = textAt(content, "type");
    const block: Block = { type, id: textAt(content, "id"), name: textAt(content, "name"), text: "", signature: "", isComplete: false };
    this.#blocks.set(index, block);
    if (type === "tool_use") {
      const input = objectAt(content, "input");
      if (input && Object.keys(input).length > 0) block.text = JSON.stringify(input);
      return [{ type: "call.started", call: block.id, name: block.name }];
    }
    if (type === "redacted_thinking") block.signature = textAt(content, "data");
    if (type === "thinking") block.signature = textAt(content, "signature");
    const text = type === "thinking" ? textAt(content, "thinking") : type === "text" ? textAt(content, "text") : "";
    return addText(block, text);
  }

  /** Counts are cumulative. A later event may omit some of them. */
  #count(usage: Json | undefined): void {
    this.usage = {
      input: countAt(usage, "input_tokens") ?? this.usage.input,
      output: countAt(usage, "output_tokens") ?? this.usage.output,
      cacheRead: countAt(usage, "cache_read_input_tokens") ?? this.usage.cacheRead,
      cacheWrite: countAt(usage, "cache_creation_input_tokens") ?? this.usage.cacheWrite,
    };
  }

  protected parts(isFinished: boolean): Part[] {
    return [...this.#blocks.values()].flatMap((block): Part[] => {
      if (block.type === "tool_use") return isFinished || block.isComplete ? [parseCall(block.id, block.name, block.text)] : [];
      if (block.type === "text") return block.text === "" ? [] : [{ kind: "text", text: block.text }];
      if (block.type === "redacted_thinking") return [{ kind: "thinking", text: "", opaque: this.opaque({ redacted: block.signature }) }];
      if (block.type !== "thinking") return [];
      if (block.signature !== "") return [{ kind: "thinking", text: block.text, opaque: this.opaque({ signature: block.signature }) }];
      return block.text === "" ? [] : [{ kind: "thinking", text: block.text }];
    });
  }
}

/** A delta has one of these fields. */
function addDelta(block: Block, delta: Json | undefined): WireEvent[] {
  block.signature += textAt(delta, "signature");
  block.text += textAt(delta, "partial_json");
  return addText(block, textAt(delta, "text") || textAt(delta, "thinking"));
}

function addText(block: Block, text: string): WireEvent[] {
  if (text === "") return [];
  block.text += text;
  return [{ type: block.type === "thinking" ? "thinking.delta" : "text.delta", text }];
}
