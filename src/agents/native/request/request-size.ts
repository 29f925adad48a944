// Estimates the tokens of a request: the vendor's last count plus an estimate of the nodes since then.
import { bytesPerToken } from "../../../kit/text/bytes-per-token.ts";
import { byteLength } from "../../../kit/text/cut-text.ts";
import type { Node, Part } from "../../../protocol/tree/node.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import { visibleNodes } from "./messages.ts";

/** Vendors charge for a picture about as much as for this many bytes of text. */
const imageBytes = 4500;
/** Ids and field names of a call or a result in the request. */
const callOverheadBytes = 60;

export function estimateRequestTokens(path: Node[]): number {
  const usage = lastCountedUsage(path);
  if (usage === null) return sumTokens(visibleNodes(path));
  return usage.input + usage.cacheRead + usage.cacheWrite + usage.output + sumTokens(path.slice(lastCountedIndex(path) + 1));
}

/** The vendor's last count; null if the path was compacted since then, because that count no longer applies. */
export function lastCountedUsage(path: Node[]): Usage | null {
  const index = lastCountedIndex(path);
  return path.findLastIndex((node) => node.note?.about === "compaction") > index ? null : (path[index]?.usage ?? null);
}

function lastCountedIndex(path: Node[]): number {
  return path.findLastIndex((node) => node.author === "agent" && node.usage !== undefined);
}

function sumTokens(nodes: Node[]): number {
  return nodes.reduce((total, node) => total + estimateNodeTokens(node), 0);
}

export function estimateNodeTokens(node: Node): number {
  return Math.ceil(node.parts.reduce((bytes, part) => bytes + sentBytes(part), 0) / bytesPerToken.cautious);
}

/** Bytes of a part that a request sends. Only the excerpt of a handle is sent, and no diff for users. */
function sentBytes(part: Part): number {
  if (part.kind === "image") return imageBytes;
  if (part.kind === "call") return byteLength(part.name) + byteLength(part.malformed ?? JSON.stringify(part.input)) + callOverheadBytes;
  if (part.kind === "result") return byteLength(part.text) + (part.images?.length ?? 0) * imageBytes + callOverheadBytes;
  return byteLength(part.kind === "handle" ? part.excerpt : part.text);
}
