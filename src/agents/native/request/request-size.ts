// Estimates the tokens of a request: the vendor's last count plus an estimate of the nodes since then.
import { bytesPerToken } from "../../../kit/text/bytes-per-token.ts";
import { byteLength } from "../../../kit/text/cut-text.ts";
import type { Node, Part } from "../../../protocol/tree/node.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import { visibleNodes } from "./messages.ts";

/** Vendors charge for a picture about as much as for this many bytes of text. */
const imageBytes = 4500;

export function requestTokens(path: Node[]): number {
  const usage = lastCountedUsage(path);
  if (usage === null) return sum(visibleNodes(path));
  return usage.input + usage.cacheRead + usage.cacheWrite + usage.output + sum(path.slice(lastCountedIndex(path) + 1));
}

/** The vendor's last count; null if the path was compacted since, because it no longer applies. */
export function lastCountedUsage(path: Node[]): Usage | null {
  const index = lastCountedIndex(path);
  return path.findLastIndex((node) => node.note?.about === "compaction") > index ? null : (path[index]?.usage ?? null);
}

function lastCountedIndex(path: Node[]): number {
  return path.findLastIndex((node) => node.author === "agent" && node.usage !== undefined);
}

function sum(nodes: Node[]): number {
  return nodes.reduce((total, node) => total + nodeTokens(node), 0);
}

export function nodeTokens(node: Node): number {
  return Math.ceil(node.parts.reduce((bytes, part) => bytes + bytesOf(part), 0) / bytesPerToken.limit);
}

/** Bytes of a part that a request sends. The diff for users and the handle are not sent. */
function bytesOf(part: Part): number {
  if (part.kind === "image") return imageBytes;
  if (part.kind === "call") return byteLength(part.name) + byteLength(part.malformed ?? JSON.stringify(part.input)) + 60;
  if (part.kind === "result") return byteLength(part.text) + (part.images?.length ?? 0) * imageBytes + 60;
  return byteLength(part.kind === "handle" ? part.excerpt : part.text);
}
