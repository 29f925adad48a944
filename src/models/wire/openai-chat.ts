// The Chat Completions wire of many vendors and local servers, with the dialects of some vendors.
import type { Effort, Endpoint, ModelRequest, Wire } from "../model.ts";
import { ChatReader } from "./openai-chat-reader.ts";
import type { Json } from "../../kit/text/json.ts";
import { bodyWithItems, writeItems } from "./kept-items.ts";
import { type AssistantSide, fitCallId, imageUrl, opaqueOf, type UserSide } from "./parts.ts";

export const openaiChat: Wire = {
  name: "openai-chat",
  request: writeRequest,
  reader: (model) => new ChatReader("openai-chat", model),
};

type Dialect = {
  effort: (effort: Effort) => Json;
  limit: "max_tokens" | "max_completion_tokens";
  /** Whether the request must ask for usage. Some vendors refuse such a request. */
  asksUsage: boolean;
  callId: (id: string) => string;
};

const plain: Dialect = {
  effort: (effort) => ({ reasoning_effort: effort }),
  limit: "max_tokens",
  asksUsage: true,
  callId: (id) => fitCallId(id, /^[\w.:|-]+$/, 64),
};
const threeEfforts: Dialect = { ...plain, effort: (effort) => ({ reasoning_effort: effort === "xhigh" ? "high" : effort }) };

const dialects: Record<string, Dialect> = {
  openai: { ...plain, limit: "max_completion_tokens" },
  openrouter: { ...plain, effort: (effort) => ({ reasoning: { effort } }) },
  mistral: {
    effort: (effort) => ({ reasoning_effort: effort === "low" ? "none" : "high" }),
    limit: "max_tokens",
    asksUsage: false,
    callId: (id) => fitCallId(id, /^[a-zA-Z0-9]{9}$/, 9),
  },
  groq: threeEfforts,
  deepseek: threeEfforts,
  xai: threeEfforts,
  ollama: threeEfforts,
  lmstudio: threeEfforts,
  llamacpp: threeEfforts,
};

function writeRequest(request: ModelRequest, endpoint: Endpoint): ReturnType<Wire["request"]> {
  const dialect = dialects[endpoint.vendor] ?? plain;
  const system = request.system === "" ? "" : JSON.stringify({ role: "system", content: request.system });
  const { text } = writeItems(request, endpoint, {
    wire: "openai-chat",
    writeSide: (side) => (side.role === "assistant" ? [writeAssistant(side, dialect)] : writeUser(side, dialect)),
  });
  const fields = {
    model: request.model,
    stream: true,
    ...(dialect.asksUsage && { stream_options: { include_usage: true } }),
    ...(request.effort && dialect.effort(request.effort)),
    ...(request.maxOutputTokens !== null && { [dialect.limit]: request.maxOutputTokens }),
    ...(request.temperature != null && { temperature: request.temperature }),
    ...(request.tools.length > 0 && { tools: request.tools.map((tool) => ({ type: "function", function: tool })) }),
  };
  return {
    url: `${endpoint.baseUrl.replace(/\/+$/, "")}/chat/completions`,
    headers: endpoint.apiKey === "" ? {} : { authorization: `Bearer ${endpoint.apiKey}` },
    body: bodyWithItems(fields, "messages", [system, text].filter((items) => items !== "").join(",")),
  };
}

function writeAssistant(side: AssistantSide, dialect: Dialect): Json {
  const text = side.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n\n");
  const thoughts = side.parts.filter((part) => part.kind === "thinking");
  const calls = side.parts.filter((part) => part.kind === "call");
  const details = thoughts.flatMap((part) => {
    const list = opaqueOf(part)?.reasoning_details;
    return Array.isArray(list) ? (list as unknown[]) : [];
  });
  const content = thoughts.flatMap((part) => (opaqueOf(part)?.field === "reasoning_content" ? [part.text] : []));
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(content.length > 0 && { reasoning_content: content.join("\n\n") }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => ({
        id: dialect.callId(call.id),
        type: "function",
        function: { name: call.name, arguments: JSON.stringify(call.input) },
      })),
    }),
  };
}

/** A tool message has only text. Its images follow in a user message after all results. */
function writeUser(side: UserSide, dialect: Dialect): Json[] {
  const messages: Json[] = side.results.map((result) => ({
    role: "tool",
    tool_call_id: dialect.callId(result.call),
    content: result.text === "" && result.images?.length ? "(image below)" : result.text,
  }));
  const images = side.results.flatMap((result) => result.images ?? []).map(writeImage);
  const content = [...images, ...side.content.map((part) => (part.kind === "text" ? { type: "text", text: part.text } : writeImage(part)))];
  const texts = side.content.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  if (content.length > texts.length) messages.push({ role: "user", content });
  else if (texts.length > 0) messages.push({ role: "user", content: texts.join("\n\n") });
  return messages;
}

function writeImage(image: { mime: string; base64: string }): Json {
  return { type: "image_url", image_url: { url: imageUrl(image) } };
}
