// The draft nodes that every parser of a foreign transcript makes, in the order of the file and linked by index.
// assign-ids.ts adds ids, turns and the session.
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { objectAt, textAt } from "../../../models/wire/json.ts";
import type { ImageData, NewNode, Part } from "../../../protocol/tree/node.ts";

export type DraftNode = {
  /** The file's own ids of all its entries. It changes when the draft grows. */
  key: string;
  parent: number | null;
  at: number;
  node: NewNode;
  /** For a compaction: the first earlier draft that stays in the request. */
  keptFrom?: number;
};

export type ParsedTranscript = {
  nativeId: string;
  drafts: DraftNode[];
  /** The last draft of the conversation at the end of the file. */
  tip: number | null;
};

export type TranscriptFormat = {
  recognises: (entry: Json) => boolean;
  /** Returns the needed fields of an entry; null drops the entry. */
  slim?: (entry: Json) => Json | null;
  parse: (entries: Json[]) => ParsedTranscript;
};

export function timeOf(entry: Json, key: string, fallback: number): number {
  const at = Date.parse(textAt(entry, key));
  return Number.isFinite(at) && at > 0 ? at : fallback;
}

/** Returns the index of the new draft. An entry without a valid time has that of its parent. */
export function addDraft(drafts: DraftNode[], entry: Json, draft: Omit<DraftNode, "at">): number {
  const parentAt = draft.parent === null ? 0 : drafts[draft.parent]!.at;
  return drafts.push({ ...draft, at: timeOf(entry, "timestamp", parentAt) }) - 1;
}

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

export function resultNode({ content, ...result }: { call: string; name: string; content: unknown; isError: boolean }): NewNode {
  return { author: "tool", parts: [{ kind: "result", ...result, ...resultContent(content) }] };
}

export function callPart(id: string, name: string, input: unknown): Part {
  if (isRecord(input)) return { kind: "call", id, name, input };
  if (typeof input !== "string") return { kind: "call", id, name, input: {} };
  try {
    const parsed: unknown = JSON.parse(input);
    if (isRecord(parsed)) return { kind: "call", id, name, input: parsed };
  } catch {
    // The invalid text is stored as `malformed`.
  }
  return { kind: "call", id, name, input: {}, malformed: input };
}

/** Finds the name of the called tool, searching from a draft towards the root. */
export function findToolName(drafts: DraftNode[], start: number | null, call: string): string {
  for (let index = start; index !== null; index = drafts[index]!.parent) {
    for (const part of drafts[index]!.node.parts) if (part.kind === "call" && part.id === call) return part.name;
  }
  return "unknown";
}
