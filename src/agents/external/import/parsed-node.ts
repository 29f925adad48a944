// The nodes that every parser of a foreign transcript returns. They are in the order of the file and linked by index.
// assign-ids.ts adds ids, turns and the session.
import type { Json } from "../../../kit/text/json.ts";
import { textAt } from "../../../models/wire/json.ts";
import type { NewNode } from "../../../protocol/tree/node.ts";

export type ParsedNode = {
  /** The transcript's ids of all entries of this node. The key changes when an entry is added to the node. */
  key: string;
  /** Index of the parent in the list of parsed nodes; null for a root. */
  parent: number | null;
  /** Unix time in milliseconds. */
  at: number;
  node: NewNode;
  /** For a compaction: the index of the first earlier node that stays in the request. */
  keptFrom?: number;
  /** The agent of the turn, if the transcript names one. */
  agent?: string;
};

export type ParsedTranscript = {
  nativeId: string;
  nodes: ParsedNode[];
  /** Index of the last node of the conversation at the end of the file; null if there is no node. */
  tip: number | null;
  /** The number of nodes at the beginning that belong to another session, which this one was forked from. */
  copied?: number;
  /** Conversations that this one started, each with a tree of its own. */
  subSessions?: ParsedTranscript[];
  /** The number of entries that were left out. */
  malformed?: number;
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

/** Returns the index of the new node. A node gets the time of its parent if `entry` has no valid time. */
export function addNode(nodes: ParsedNode[], entry: Json, node: Omit<ParsedNode, "at">): number {
  const parentAt = node.parent === null ? 0 : nodes[node.parent]!.at;
  return nodes.push({ ...node, at: timeOf(entry, "timestamp", parentAt) }) - 1;
}

/** Finds the name of the called tool, searching from node `start` towards the root. */
export function findToolName(nodes: ParsedNode[], start: number | null, call: string): string {
  for (let index = start; index !== null; index = nodes[index]!.parent) {
    for (const part of nodes[index]!.node.parts) if (part.kind === "call" && part.id === call) return part.name;
  }
  return "unknown";
}
