// The draft nodes that every parser of a foreign transcript makes, in the order of the file and linked by index.
// assign-ids.ts adds ids, turns and the session.
import type { Json } from "../../../kit/text/json.ts";
import { textAt } from "../../../models/wire/json.ts";
import type { NewNode } from "../../../protocol/tree/node.ts";

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

/** Finds the name of the called tool, searching from a draft towards the root. */
export function findToolName(drafts: DraftNode[], start: number | null, call: string): string {
  for (let index = start; index !== null; index = drafts[index]!.parent) {
    for (const part of drafts[index]!.node.parts) if (part.kind === "call" && part.id === call) return part.name;
  }
  return "unknown";
}
