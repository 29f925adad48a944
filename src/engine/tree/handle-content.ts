// Reads the data of a handle, as a bounded text or complete.
import { Excerpt } from "../../kit/text/excerpt.ts";
import { decodeUtf8 } from "../../kit/text/cut-text.ts";
import type { HandleContent } from "../../protocol/tree/views.ts";
import type { EngineDeps } from "../engine.ts";

export type ResolveHandleParams = { identifier: string; maxBytes: number | null; as: "text" | "base64" };

/** A text over `maxBytes` loses its middle. Base64 is always complete. */
export async function resolveHandle(deps: EngineDeps, { identifier, maxBytes, as }: ResolveHandleParams): Promise<HandleContent> {
  const stream = await (await deps.store()).readOutput(identifier);
  if (maxBytes !== null && as === "text") {
    const head = Math.floor(maxBytes / 2);
    const excerpt = new Excerpt(head, maxBytes - head);
    for await (const chunk of stream) excerpt.push(chunk);
    const { text, cutBytes } = excerpt.text();
    return { content: text, bytes: excerpt.bytes, cutBytes };
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const content = Buffer.concat(chunks);
  return { content: as === "base64" ? content.toString("base64") : decodeUtf8(content), bytes: content.length, cutBytes: 0 };
}
