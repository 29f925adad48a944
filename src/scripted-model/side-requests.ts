// Answers requests that ask for no model answer: health checks, model lists, token counts. Never advances a script.
import { field, textOf, type JsonValue } from "./json.ts";
import { tokensOf } from "./cache.ts";

const modelIds = ["claude-sonnet-4-5", "gpt-5.2", "gemini-3-pro-preview", "scripted"];

/** Returns null for any other path. */
export function answerSideRequest(method: string, path: string, body: string): Response | null {
  if (method === "HEAD") return new Response(null);
  if (method === "GET" && path === "/") return new Response("scripted model server");
  if (method === "GET" && path.endsWith("/v1beta/models")) return Response.json({ models: modelIds.map(geminiModel) });
  if (method === "GET" && path.endsWith("/models")) return Response.json({ ...modelList(), models: [] });
  if (method === "GET" && path === "/api/version") return Response.json({ version: "0.12.0" });
  if (method === "GET" && path === "/api/tags") return Response.json({ models: modelIds.map(ollamaModel) });
  const count = tokensOf(body);
  if (path.endsWith("/messages/count_tokens")) return Response.json({ input_tokens: count });
  if (path.endsWith("/responses/input_tokens")) return Response.json({ object: "response.input_tokens", input_tokens: count });
  if (path.endsWith(":countTokens")) return Response.json({ totalTokens: count });
  return null;
}

/** The model in the body of a request, or in Gemini's path. */
export function requestedModel(path: string, body: JsonValue | undefined): string {
  return /\/models\/([^/:]+):/.exec(path)?.[1] ?? textOf(field(body, "model"));
}

/** A list in a format for both Anthropic's and OpenAI's clients. */
function modelList(): { [key: string]: JsonValue } {
  const data = modelIds.map((id) => ({
    id,
    object: "model",
    type: "model",
    display_name: id,
    created: 1_700_000_000,
    created_at: "2026-01-01T00:00:00Z",
    owned_by: "scripted",
  }));
  return { object: "list", data, has_more: false, first_id: modelIds[0] ?? null, last_id: modelIds.at(-1) ?? null };
}

function geminiModel(id: string): JsonValue {
  return {
    name: `models/${id}`,
    version: "1",
    displayName: id,
    inputTokenLimit: 200_000,
    outputTokenLimit: 32_000,
    supportedGenerationMethods: ["generateContent", "countTokens"],
  };
}

function ollamaModel(id: string): JsonValue {
  const details = { format: "gguf", family: "scripted", families: ["scripted"], parameter_size: "7B", quantization_level: "Q4_0" };
  return { name: `${id}:latest`, model: `${id}:latest`, modified_at: "2026-01-01T00:00:00Z", size: 1, digest: "0", details };
}
