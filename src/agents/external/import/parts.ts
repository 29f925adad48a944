// Converts the content of messages of other agents to parts, in their transcripts and on their stdout.
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { countAt, objectAt, textAt } from "../../../models/wire/json.ts";
import { parseCall } from "../../../models/wire/parts.ts";
import type { ImageData, NewNode, Part } from "../../../protocol/tree/node.ts";
import { zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";

/** Converts text blocks, and image blocks of every known format. */
export function contentParts(content: unknown): Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter(isRecord).flatMap((block): Part[] => {
    const text = textAt(block, "text");
    if (text !== "") return [{ kind: "text", text }];
    const image = imageOf(block);
    return image === null ? [] : [{ kind: "image", ...image }];
  });
}

function imageOf(block: Json): ImageData | null {
  const source = objectAt(block, "source") ?? objectAt(block, "inlineData") ?? block;
  const url = /^data:([^;,]+);base64,(.*)$/s.exec(textAt(block, "image_url"));
  const mime = url?.[1] ?? (textAt(source, "media_type") || textAt(source, "mimeType"));
  const base64 = url?.[2] ?? textAt(source, "data");
  return mime.startsWith("image/") && base64 !== "" ? { mime, base64 } : null;
}

/** Reads the token counts of input, output, cache reads and cache writes from `keys`, in this order. A missing count is taken from `before`. */
export function usageAt(counts: Json | undefined, keys: string[], before = zeroUsage): Usage {
  const [input, output, cacheRead, cacheWrite] = keys.map((key) => countAt(counts, key));
  return {
    input: input ?? before.input,
    output: output ?? before.output,
    cacheRead: cacheRead ?? before.cacheRead,
    cacheWrite: cacheWrite ?? before.cacheWrite,
  };
}

export function thinkingParts(text: string): Part[] {
  return text === "" ? [] : [{ kind: "thinking", text }];
}

/** Text and images of a tool's result. */
export function resultContent(content: unknown): { text: string; images?: ImageData[] } {
  const parts = contentParts(content);
  const images = parts.flatMap((part) => (part.kind === "image" ? [{ mime: part.mime, base64: part.base64 }] : []));
  const text = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
  return images.length === 0 ? { text } : { text, images };
}

/** A compaction that replaces everything before it, unless its parsed node has `keptFrom`. */
export function compactionNode(parts: Part[]): NewNode {
  return { author: "note", parts, note: { about: "compaction", keptFrom: null } };
}

export function resultNode({ content, ...result }: { call: string; name: string; content: unknown; isError: boolean }): NewNode {
  return { author: "tool", parts: [{ kind: "result", ...result, ...resultContent(content) }] };
}

export function callPart(id: string, name: string, input: unknown): Part {
  if (typeof input === "string") return parseCall(id, name, input);
  return { kind: "call", id, name, input: isRecord(input) ? input : {} };
}
