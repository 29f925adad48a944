// What every parser of a foreign transcript makes: drafts in the order of the file, linked by index. Ids, turns and
// the session come later, the same for all (`place.ts`).
import type { Json } from "../../../models/wire/json.ts";
import { isJson, textAt } from "../../../models/wire/json.ts";
import type { NewNode, Part } from "../../../protocol/tree/node.ts";

export type DraftNode = {
  /** Native ids of all that it was made from: it changes when the draft grows. */
  key: string;
  parent: number | null;
  at: number;
  node: NewNode;
  /** Of a compaction: the first draft before it that stays in the request. */
  keptFrom?: number;
};

export type ParsedTranscript = {
  nativeId: string;
  drafts: DraftNode[];
  /** Where the conversation stands at the end of the file. */
  tip: number | null;
};

export type TranscriptFormat = {
  recognises: (entry: Json) => boolean;
  /** What of an entry is needed; null forgets it. */
  slim?: (entry: Json) => Json | null;
  parse: (entries: Json[]) => ParsedTranscript;
};

export function timeOf(entry: Json, fallback: number): number {
  const at = Date.parse(textAt(entry, "timestamp"));
  return Number.isFinite(at) && at > 0 ? at : fallback;
}

/** Text, and images where the block holds one in one of the two usual shapes. */
export function contentParts(content: unknown): Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter(isJson).flatMap((block) => contentPart(block));
}

function contentPart(block: Json): Part[] {
  const text = textAt(block, "text");
  if (text !== "") return [{ kind: "text", text }];
  const image = imageOf(block);
  return image === null ? [] : [{ kind: "image", ...image }];
}

export function imageOf(block: Json): { mime: string; base64: string } | null {
  const source = isJson(block["source"]) ? block["source"] : isJson(block["inlineData"]) ? block["inlineData"] : block;
  const url = /^data:([^;,]+);base64,(.*)$/s.exec(textAt(block, "image_url"));
  const mime = url?.[1] ?? (textAt(source, "media_type") || textAt(source, "mimeType"));
  const base64 = url?.[2] ?? textAt(source, "data");
  return mime.startsWith("image/") && base64 !== "" ? { mime, base64 } : null;
}

export function resultNode(given: { call: string; name: string; content: unknown; isError: boolean }): NewNode {
  const parts = contentParts(given.content);
  const images = parts.flatMap((part) => (part.kind === "image" ? [{ mime: part.mime, base64: part.base64 }] : []));
  const text = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
  const { call, name, isError } = given;
  return { author: "tool", parts: [{ kind: "result", call, name, text, isError, ...(images.length > 0 ? { images } : {}) }] };
}

export function callPart(id: string, name: string, input: unknown): Part {
  if (isJson(input)) return { kind: "call", id, name, input };
  if (typeof input !== "string") return { kind: "call", id, name, input: {} };
  try {
    const read: unknown = JSON.parse(input);
    if (isJson(read)) return { kind: "call", id, name, input: read };
  } catch {
    // It is kept as it was sent.
  }
  return { kind: "call", id, name, input: {}, malformed: input };
}

/** The name of the tool that a result answers: the call's, looked for upwards. */
export function findToolName(drafts: DraftNode[], from: number | null, call: string): string {
  for (let at = from; at !== null; at = drafts[at]!.parent) {
    for (const part of drafts[at]!.node.parts) if (part.kind === "call" && part.id === call) return part.name;
  }
  return "unknown";
}
