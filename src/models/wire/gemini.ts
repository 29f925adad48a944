// The Gemini wire: parts carry thought signatures that must come back in the very part they came in.
import type { CallPart, Part, ResultPart } from "../../protocol/tree/node.ts";
import { zeroUsage, type Usage } from "../../protocol/tree/usage.ts";
import type { Effort, Endpoint, ModelRequest, VendorError, ServerEvent, StopReason, Wire, WireEvent, WireReader } from "../model.ts";
import { type Json, listAt, numberAt, objectAt, parseJson, textAt } from "./json.ts";
import { makeCallId, notJson, opaqueOf, type MessageSide, groupBySide, stopReasonFor } from "./parts.ts";

export const gemini: Wire = {
  name: "gemini",
  request: writeRequest,
  reader: (model) => new GeminiReader(model),
};

/** What the vendor documents for calls that another model made: a place without a signature is refused. */
const foreignSignature = "skip_thought_signature_validator";

function writeRequest(request: ModelRequest, endpoint: Endpoint): ReturnType<Wire["request"]> {
  const thinking = request.effort === null ? null : thinkingFor(request.model, request.effort);
  const generation = {
    ...(request.maxOutputTokens !== null && { maxOutputTokens: request.maxOutputTokens }),
    ...(thinking && { thinkingConfig: thinking }),
  };
  const functions = request.tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    parametersJsonSchema: tool.parameters,
  }));
  const body = {
    ...(functions.length > 0 && { tools: [{ functionDeclarations: functions }] }),
    ...(request.system !== "" && { systemInstruction: { parts: [{ text: request.system }] } }),
    ...(Object.keys(generation).length > 0 && { generationConfig: generation }),
    contents: writeContents(request),
  };
  const root = endpoint.baseUrl.replace(/\/+$/, "");
  const versioned = /\/v\d+(alpha|beta)?$/.test(root) ? root : `${root}/v1beta`;
  const model = request.model.split("/").map(encodeURIComponent).join("/");
  return {
    url: `${versioned}/${model.startsWith("models/") ? model : `models/${model}`}:streamGenerateContent?alt=sse`,
    headers: endpoint.apiKey === "" ? {} : { "x-goog-api-key": endpoint.apiKey },
    body: JSON.stringify(body),
  };
}

const budgets: Record<Effort, number> = { low: 2048, medium: 8192, high: 24_576, xhigh: 24_576 };

/** Levels since the third generation, token budgets in 2.5; the models before do not think. */
function thinkingFor(model: string, effort: Effort): Json | null {
  if (/gemma|gemini-(1|2\.0)/.test(model)) return null;
  if (/gemini-2/.test(model)) return { includeThoughts: true, thinkingBudget: budgets[effort] };
  const twoLevels = /gemini-3-pro/.test(model);
  const level = effort === "low" ? "LOW" : effort === "medium" && !twoLevels ? "MEDIUM" : "HIGH";
  return { includeThoughts: true, thinkingLevel: level };
}

function isThirdGeneration(model: string): boolean {
  return /^(models\/)?gemini-/.test(model) && !/gemini-(1|2|pro-1|flash-1)/.test(model);
}

function writeContents(request: ModelRequest): Json[] {
  const signs = isThirdGeneration(request.model);
  // Ids that this vendor gave are named in the results; ours would mean nothing to it.
  const ids = new Set<string>();
  return groupBySide(request, "gemini").flatMap((side): Json[] => {
    if (side.role === "user") return writeHeard(side, ids, signs);
    for (const part of side.parts) if (part.kind === "call" && opaqueOf(part)?.id === true) ids.add(part.id);
    return [{ role: "model", parts: writeSpoken(side, ids, signs) }];
  });
}

function writeSpoken(side: Extract<MessageSide, { role: "assistant" }>, ids: Set<string>, signs: boolean): Json[] {
  const first = side.parts.find((part) => part.kind === "call");
  return side.parts.map((part) => {
    const own = textAt(opaqueOf(part), "signature");
    const signature = own !== "" ? { thoughtSignature: own } : {};
    if (part.kind === "thinking") return { text: part.text, thought: true, ...signature };
    if (part.kind === "text") return { text: part.text, ...signature };
    const needed = own === "" && signs && part === first ? { thoughtSignature: foreignSignature } : signature;
    const call = { ...(ids.has(part.id) && { id: part.id }), name: part.name, args: part.input };
    return { functionCall: call, ...needed };
  });
}

function writeHeard(side: Extract<MessageSide, { role: "user" }>, ids: Set<string>, signs: boolean): Json[] {
  const contents: Json[] = [];
  const results = side.results.map((result) => ({ functionResponse: writeResult(result, ids, signs) }));
  if (results.length > 0) contents.push({ role: "user", parts: results });
  const shown = signs ? [] : side.results.flatMap((result) => result.images ?? []).map(writeImage);
  const said = side.content.map((part) => (part.kind === "text" ? { text: part.text } : writeImage(part)));
  if (shown.length + said.length > 0) contents.push({ role: "user", parts: [...shown, ...said] });
  return contents;
}

function writeResult(result: ResultPart, ids: Set<string>, signs: boolean): Json {
  const images = signs ? (result.images ?? []) : [];
  return {
    ...(ids.has(result.call) && { id: result.call }),
    name: result.name,
    response: result.isError ? { error: result.text } : { output: result.text },
    ...(images.length > 0 && { parts: images.map(writeImage) }),
  };
}

function writeImage(image: { mime: string; base64: string }): Json {
  return { inlineData: { mimeType: image.mime, data: image.base64 } };
}

const stops: Record<string, StopReason> = {
  STOP: "end",
  FINISH_REASON_UNSPECIFIED: "end",
  MAX_TOKENS: "length",
  SAFETY: "refused",
  RECITATION: "refused",
  LANGUAGE: "refused",
  BLOCKLIST: "refused",
  PROHIBITED_CONTENT: "refused",
  SPII: "refused",
  IMAGE_SAFETY: "refused",
  IMAGE_PROHIBITED_CONTENT: "refused",
  IMAGE_RECITATION: "refused",
};

class GeminiReader implements WireReader {
  readonly #model: string;
  readonly #parts: Part[] = [];
  #usage: Usage = zeroUsage;
  #stop: StopReason | null = null;

  constructor(model: string) {
    this.#model = model;
  }

  push(event: ServerEvent): WireEvent[] {
    const data = parseJson(event.data);
    if (!data) return [{ type: "failed", problem: notJson }];
    const error = objectAt(data, "error");
    if (error) return [{ type: "failed", problem: problemOf(error) }];
    this.#count(objectAt(data, "usageMetadata"));
    if (textAt(objectAt(data, "promptFeedback"), "blockReason") !== "") this.#stop = "refused";
    const candidate = listAt(data, "candidates")[0];
    const events = listAt(objectAt(candidate, "content"), "parts").flatMap((part) => this.#take(part));
    const reason = textAt(candidate, "finishReason");
    if (reason === "") return events;
    const stop = stops[reason];
    if (stop) this.#stop = stop;
    else
      events.push({
        type: "failed",
        problem: { status: null, code: reason, message: textAt(candidate, "finishMessage") || `the model stopped: ${reason}` },
      });
    return events;
  }

  finish(): ReturnType<WireReader["finish"]> {
    if (this.#stop === null) return null;
    return { parts: this.#parts, usage: this.#usage, stop: stopReasonFor(this.#stop, this.#parts) };
  }

  partial(): { parts: Part[]; usage: Usage } {
    return { parts: this.#parts, usage: this.#usage };
  }

  /** The last chunk looks like any other: the connection's end is the sign. */
  ended(): boolean {
    return false;
  }

  #take(part: Json): WireEvent[] {
    const signature = textAt(part, "thoughtSignature");
    const call = objectAt(part, "functionCall");
    if (call) return this.#call(call, signature);
    const kind = part.thought === true ? "thinking" : "text";
    const text = textAt(part, "text");
    const last = this.#parts.at(-1);
    if (last?.kind === kind) {
      last.text += text;
      if (signature !== "") last.opaque = this.#own({ signature });
    } else if (text !== "" || signature !== "") {
      this.#parts.push({ kind, text, ...(signature !== "" && { opaque: this.#own({ signature }) }) });
    }
    return text === "" ? [] : [{ type: kind === "thinking" ? "thinking.delta" : "text.delta", text }];
  }

  #call(call: Json, signature: string): WireEvent[] {
    const given = textAt(call, "id");
    const data = { ...(signature !== "" && { signature }), ...(given !== "" && { id: true }) };
    const part: CallPart = {
      kind: "call",
      id: given || makeCallId(),
      name: textAt(call, "name"),
      input: objectAt(call, "args") ?? {},
      ...(Object.keys(data).length > 0 && { opaque: this.#own(data) }),
    };
    this.#parts.push(part);
    return [{ type: "call.started", call: part.id, name: part.name }];
  }

  /** Each chunk has the counts so far; thoughts are paid as output. */
  #count(usage: Json | undefined): void {
    if (!usage) return;
    const cacheRead = numberAt(usage, "cachedContentTokenCount") ?? 0;
    const prompt = (numberAt(usage, "promptTokenCount") ?? 0) + (numberAt(usage, "toolUsePromptTokenCount") ?? 0);
    this.#usage = {
      input: Math.max(0, prompt - cacheRead),
      output: (numberAt(usage, "candidatesTokenCount") ?? 0) + (numberAt(usage, "thoughtsTokenCount") ?? 0),
      cacheRead,
      cacheWrite: 0,
    };
  }

  #own(data: Json): { wire: string; model: string; data: Json } {
    return { wire: "gemini", model: this.#model, data };
  }
}

function problemOf(error: Json): VendorError {
  return { status: numberAt(error, "code") ?? null, code: textAt(error, "status"), message: textAt(error, "message") };
}
