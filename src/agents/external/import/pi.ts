// Parses pi's transcripts, a tree of entries linked by `parentId`. Messages, summaries and compactions become nodes.
import type { Json } from "../../../kit/text/json.ts";
import { countAt, listAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { NewNode, Part } from "../../../protocol/tree/node.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import { addNode, type ParsedNode, type ParsedTranscript, type TranscriptFormat } from "./parsed-node.ts";
import { callPart, compactionNode, contentParts, resultNode, thinkingParts, usageAt } from "./parts.ts";

export const pi: TranscriptFormat = { recognises, parse };

function recognises(entry: Json): boolean {
  return entry["type"] === "session" && textAt(entry, "id") !== "" && "cwd" in entry;
}

function parse(entries: Json[]): ParsedTranscript {
  const nodes: ParsedNode[] = [];
  const nodeIndexById = new Map<string, number | null>();
  let nativeId = "";
  let last: number | null = null;
  for (const [index, entry] of entries.entries()) {
    if (recognises(entry)) {
      nativeId ||= textAt(entry, "id");
      continue;
    }
    const id = textAt(entry, "id") || `line ${index}`;
    const { parentId } = entry;
    const linked: number | null | undefined = typeof parentId === "string" ? nodeIndexById.get(parentId) : undefined;
    // The last entry is the parent if there is no `parentId` (pi's first format) or if its line was unreadable.
    const parent: number | null = parentId === null ? null : linked === undefined ? last : linked;
    const node = nodeOf(entry);
    last = node === null ? parent : addNode(nodes, entry, { key: id, parent, node, keptFrom: keptFrom(entry, nodeIndexById) });
    nodeIndexById.set(id, last);
  }
  return { nativeId, nodes, tip: last };
}

function nodeOf(entry: Json): NewNode | null {
  const summary = textAt(entry, "summary");
  switch (entry["type"]) {
    case "message":
      return messageNode(objectAt(entry, "message") ?? {});
    case "compaction":
      return compactionNode([{ kind: "text", text: summary }]);
    case "branch_summary":
      return { author: "note", parts: contentParts(`Summary of a branch that was left: ${summary}`) };
    case "custom_message":
      return { author: "note", parts: contentParts(entry["content"]) };
    default:
      return null;
  }
}

function messageNode(message: Json): NewNode | null {
  switch (message["role"]) {
    case "user":
      return { author: "user", parts: contentParts(message["content"]) };
    case "assistant":
      return answerNode(message);
    case "toolResult":
      return resultNode({
        call: textAt(message, "toolCallId"),
        name: textAt(message, "toolName") || "unknown",
        content: message["content"],
        isError: message["isError"] === true,
      });
    case "bashExecution":
      return { author: "note", parts: contentParts(`The user ran: ${textAt(message, "command")}\n${textAt(message, "output")}`) };
    default:
      return null;
  }
}

function answerNode(message: Json): NewNode {
  const usage = objectAt(message, "usage");
  const cost = countAt(objectAt(usage, "cost"), "total") ?? 0;
  return {
    author: "agent",
    parts: piParts(message),
    ...(textAt(message, "model") === "" ? {} : { model: `${textAt(message, "provider") || "unknown"}/${textAt(message, "model")}` }),
    ...(usage === undefined ? {} : { usage: piUsage(usage), costUsd: cost > 0 ? cost : null }),
  };
}

export function piUsage(usage: Json | undefined): Usage {
  return usageAt(usage, ["input", "output", "cacheRead", "cacheWrite"]);
}

/** The parts of an answer of pi, in its transcript and on its stdout. */
export function piParts(message: Json): Part[] {
  return listAt(message, "content").flatMap((block): Part[] => {
    if (block["type"] === "toolCall") return [callPart(textAt(block, "id"), textAt(block, "name"), block["arguments"])];
    return block["type"] === "thinking" ? thinkingParts(textAt(block, "thinking")) : contentParts([block]);
  });
}

function keptFrom(entry: Json, nodeIndexById: Map<string, number | null>): number | undefined {
  return entry["type"] === "compaction" ? (nodeIndexById.get(textAt(entry, "firstKeptEntryId")) ?? undefined) : undefined;
}
