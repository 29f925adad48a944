// The data that a handle points at: as text of a bounded size, or whole.
import { Excerpt } from "../../kit/text/excerpt.ts";
import { decodeUtf8 } from "../../kit/text/cut-text.ts";
import type { HandleContent } from "../../protocol/tree/views.ts";
import type { EngineDeps } from "../engine.ts";

export type ResolveHandleParams = { identifier: string; maxBytes: number | null; as: "text" | "base64" };

/** With a bound, the beginning and the end stay. Base64 is always whole. */
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
  const whole = Buffer.concat(chunks);
  return { content: as === "base64" ? whole.toString("base64") : decodeUtf8(whole), bytes: whole.length, cutBytes: 0 };
}
