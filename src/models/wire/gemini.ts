// The Gemini wire. Parts have thought signatures, which must be sent back in the same part.
import type { CallPart, Part, ResultPart } from "../../protocol/tree/node.ts";
import type { Effort, Endpoint, ModelRequest, StopReason, Wire, WireEvent } from "../model.ts";
import type { Json } from "../../kit/text/json.ts";
import { countAt, listAt, numberAt, objectAt, textAt } from "./json.ts";
import { failed, JsonReader } from "./json-reader.ts";
import { bodyWithItems, writeItems } from "./kept-items.ts";
import { type AssistantSide, makeCallId, type MessageSide, opaqueOf, type UserSide } from "./parts.ts";

export const gemini: Wire = {
  name: "gemini",
  request: writeRequest,
  reader: (model) => new GeminiReader("gemini", model),
};

/** The documented signature for calls of another model. A call without a signature is refused. */
const foreignSignature = "skip_thought_signature_validator";

function writeRequest(request: ModelRequest, endpoint: Endpoint): ReturnType<Wire["request"]> {
  const thinking = request.effort === null ? null : thinkingFor(request.model, request.effort);
  const generation = {
    ...(request.maxOutputTokens !== null && { maxOutputTokens: request.maxOutputTokens }),
    ...(request.temperature != null && { temperature: request.temperature }),
    ...(thinking && { thinkingConfig: thinking }),
  };
  const functions = request.tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    parametersJsonSchema: tool.parameters,
  }));
  const isThird = isThirdGeneration(request.model);
  const { text } = writeItems(request, endpoint, { wire: "gemini", writeSide: (side, vendorIds) => writeSide(side, vendorIds, isThird) });
  const fields = {
    ...(functions.length > 0 && { tools: [{ functionDeclarations: functions }] }),
    ...(request.system !== "" && { systemInstruction: { parts: [{ text: request.system }] } }),
    ...(Object.keys(generation).length > 0 && { generationConfig: generation }),
  };
  const root = endpoint.baseUrl.replace(/\/+$/, "");
  const versioned = /\/v\d+(alpha|beta)?$/.test(root) ? root : `${root}/v1beta`;
  const model = request.model.split("/").map(encodeURIComponent).join("/");
  return {
    url: `${versioned}/${model.startsWith("models/") ? model : `models/${model}`}:streamGenerateContent?alt=sse`,
    headers: endpoint.apiKey === "" ? {} : { "x-goog-api-key": endpoint.apiKey },
    body: bodyWithItems(fields, "contents", text),
  };
}

const budgets: Record<Effort, number> = { low: 2048, medium: 8192, high: 24_576, xhigh: 24_576 };

/** The third generation takes levels and 2.5 takes token budgets. Older models do not think. */
function thinkingFor(model: string, effort: Effort): Json | null {
  if (/gemma|gemini-(1|2\.0)/.test(model)) return null;
  if (/gemini-2/.test(model)) return { includeThoughts: true, thinkingBudget: budgets[effort] };
  const hasTwoLevels = /gemini-3-pro/.test(model);
  const level = effort === "low" ? "LOW" : effort === "medium" && !hasTwoLevels ? "MEDIUM" : "HIGH";
  return { includeThoughts: true, thinkingLevel: level };
}

function isThirdGeneration(model: string): boolean {
  return /^(models\/)?gemini-/.test(model) && !/gemini-(1|2|pro-1|flash-1)/.test(model);
}

/** Only ids of this vendor are sent back in results. The vendor can't resolve ids that skein made. */
function writeSide(side: MessageSide, vendorIds: Set<string>, isThird: boolean): Json[] {
  if (side.role === "user") return writeUser(side, vendorIds, isThird);
  for (const part of side.parts) if (part.kind === "call" && opaqueOf(part)?.id === true) vendorIds.add(part.id);
  return [{ role: "model", parts: writeAssistant(side, vendorIds, isThird) }];
}

function writeAssistant(side: AssistantSide, vendorIds: Set<string>, isThird: boolean): Json[] {
  const firstCall = side.parts.find((part) => part.kind === "call");
  return side.parts.map((part) => {
    const stored = textAt(opaqueOf(part), "signature");
    const signature = stored !== "" ? { thoughtSignature: stored } : {};
    if (part.kind === "thinking") return { text: part.text, thought: true, ...signature };
    if (part.kind === "text") return { text: part.text, ...signature };
    const callSignature = stored === "" && isThird && part === firstCall ? { thoughtSignature: foreignSignature } : signature;
    const call = { ...(vendorIds.has(part.id) && { id: part.id }), name: part.name, args: part.input };
    return { functionCall: call, ...callSignature };
  });
}

function writeUser(side: UserSide, vendorIds: Set<string>, isThird: boolean): Json[] {
  const contents: Json[] = [];
  const results = side.results.map((result) => ({ functionResponse: writeResult(result, vendorIds, isThird) }));
  if (results.length > 0) contents.push({ role: "user", parts: results });
  const images = isThird ? [] : side.results.flatMap((result) => result.images ?? []).map(writeImage);
  const content = side.content.map((part) => (part.kind === "text" ? { text: part.text } : writeImage(part)));
  if (images.length + content.length > 0) contents.push({ role: "user", parts: [...images, ...content] });
  return contents;
}

function writeResult(result: ResultPart, vendorIds: Set<string>, isThird: boolean): Json {
  const images = isThird ? (result.images ?? []) : [];
  return {
    ...(vendorIds.has(result.call) && { id: result.call }),
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

class GeminiReader extends JsonReader {
  readonly #parts: Part[] = [];

  protected readEvent(data: Json): WireEvent[] {
    const error = objectAt(data, "error");
    if (error) return failed({ status: numberAt(error, "code") ?? null, code: textAt(error, "status"), message: textAt(error, "message") });
    this.#count(objectAt(data, "usageMetadata"));
    if (textAt(objectAt(data, "promptFeedback"), "blockReason") !== "") this.stop = "refused";
    const candidate = listAt(data, "candidates")[0];
    const events = listAt(objectAt(candidate, "content"), "parts").flatMap((part) => this.#addPart(part));
    const reason = textAt(candidate, "finishReason");
    if (reason === "") return events;
    const stop = stops[reason];
    if (stop) this.stop = stop;
    else {
      const message = textAt(candidate, "finishMessage") || `the model stopped: ${reason}`;
      events.push(...failed({ status: null, code: reason, message }));
    }
    return events;
  }

  /** Calls arrive complete. */
  protected parts(): Part[] {
    return this.#parts;
  }

  /** The last chunk has no mark. Only the end of the connection ends the answer. */
  override ended(): boolean {
    return false;
  }

  #addPart(part: Json): WireEvent[] {
    const signature = textAt(part, "thoughtSignature");
    const call = objectAt(part, "functionCall");
    if (call) return this.#addCall(call, signature);
    const kind = part.thought === true ? "thinking" : "text";
    const text = textAt(part, "text");
    const last = this.#parts.at(-1);
    if (last?.kind === kind) {
      last.text += text;
      if (signature !== "") last.opaque = this.opaque({ signature });
    } else if (text !== "" || signature !== "") {
      this.#parts.push({ kind, text, ...(signature !== "" && { opaque: this.opaque({ signature }) }) });
    }
    return text === "" ? [] : [{ type: kind === "thinking" ? "thinking.delta" : "text.delta", text }];
  }

  #addCall(call: Json, signature: string): WireEvent[] {
    const vendorId = textAt(call, "id");
    const data = { ...(signature !== "" && { signature }), ...(vendorId !== "" && { id: true }) };
    const part: CallPart = {
      kind: "call",
      id: vendorId || makeCallId(),
      name: textAt(call, "name"),
      input: objectAt(call, "args") ?? {},
      ...(Object.keys(data).length > 0 && { opaque: this.opaque(data) }),
    };
    this.#parts.push(part);
    return [{ type: "call.started", call: part.id, name: part.name }];
  }

  /** Each chunk has the counts so far. Thoughts are billed as output. */
  #count(usage: Json | undefined): void {
    if (!usage) return;
    const prompt = (countAt(usage, "promptTokenCount") ?? 0) + (countAt(usage, "toolUsePromptTokenCount") ?? 0);
    const output = (countAt(usage, "candidatesTokenCount") ?? 0) + (countAt(usage, "thoughtsTokenCount") ?? 0);
    this.countTokens(prompt, output, { read: countAt(usage, "cachedContentTokenCount") });
  }
}
