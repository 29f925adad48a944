// How many tokens a request will have: what the vendor counted last, and an estimate of what came after.
import { byteLength } from "../../../kit/text/cut-text.ts";
import type { Node, Part } from "../../../protocol/tree/node.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import { visibleNodes } from "./messages.ts";

export const bytesPerToken = 3;
/** About what vendors charge for a picture, in the bytes of text of the same price. */
const imageBytes = 4500;

export function requestTokens(path: Node[]): number {
  const usage = lastCountedUsage(path);
  if (usage === null) return sum(visibleNodes(path));
  return usage.input + usage.cacheRead + usage.cacheWrite + usage.output + sum(path.slice(countedAt(path) + 1));
}

/** What the vendor counted last, unless the path was shortened since. */
export function lastCountedUsage(path: Node[]): Usage | null {
  const at = countedAt(path);
  return path.findLastIndex((node) => node.note?.about === "compaction") > at ? null : (path[at]?.usage ?? null);
}

function countedAt(path: Node[]): number {
  return path.findLastIndex((node) => node.author === "agent" && node.usage !== undefined);
}

function sum(nodes: Node[]): number {
  return nodes.reduce((total, node) => total + nodeTokens(node), 0);
}

export function nodeTokens(node: Node): number {
  return Math.ceil(node.parts.reduce((bytes, part) => bytes + bytesOf(part), 0) / bytesPerToken);
}

/** What a request carries of a part; a diff for people or a handle is not sent. */
function bytesOf(part: Part): number {
  if (part.kind === "image") return imageBytes;
  if (part.kind === "call") return byteLength(part.name) + byteLength(part.malformed ?? JSON.stringify(part.input)) + 60;
  if (part.kind === "result") return byteLength(part.text) + (part.images?.length ?? 0) * imageBytes + 60;
  return byteLength(part.kind === "handle" ? part.excerpt : part.text);
}
