// A fake prompt cache with token counts. Four bytes are one token.
// For Anthropic an entry ends at each breakpoint of the client. For other vendors any common prefix is cached.
import type { PromptPiece, ServerWireName } from "./wires/wire.ts";

export type CountPrompt = (protocol: ServerWireName, pieces: PromptPiece[]) => { input: number; cacheRead: number; cacheWrite: number };

export const countUncached: CountPrompt = (_protocol, pieces) => ({
  input: tokensForBytes(pieces.reduce((sum, piece) => sum + bytesOf(piece.text), 0)),
  cacheRead: 0,
  cacheWrite: 0,
});

export function createPromptCache(): CountPrompt {
  const entries = new Set<string>();
  const prompts: string[] = [];
  return (protocol, pieces) => (protocol === "anthropic" ? countMarked(pieces, entries) : countAutomatic(pieces, prompts));
}

export function tokensForBytes(bytes: number): number {
  return Math.ceil(bytes / 4);
}

function countMarked(pieces: PromptPiece[], entries: Set<string>): ReturnType<CountPrompt> {
  let prefix = "";
  let hit = "";
  let marked = "";
  for (const piece of pieces) {
    prefix += piece.text;
    if (entries.has(prefix)) hit = prefix;
    if (piece.breakpoint) marked = prefix;
  }
  // Without a breakpoint the vendor neither reads nor writes the cache.
  const read = marked === "" ? "" : hit;
  let entry = "";
  for (const piece of pieces) {
    entry += piece.text;
    if (piece.breakpoint) entries.add(entry);
  }
  const counts = [tokensForBytes(bytesOf(prefix)), tokensForBytes(bytesOf(marked)), tokensForBytes(bytesOf(read))] as const;
  return { input: counts[0] - Math.max(counts[1], counts[2]), cacheRead: counts[2], cacheWrite: Math.max(0, counts[1] - counts[2]) };
}

function countAutomatic(pieces: PromptPiece[], prompts: string[]): ReturnType<CountPrompt> {
  const prompt = pieces.map((piece) => piece.text).join("");
  const length = Math.max(0, ...prompts.map((other) => commonLength(prompt, other)));
  prompts.push(prompt);
  const cacheRead = tokensForBytes(bytesOf(prompt.slice(0, length)));
  return { input: tokensForBytes(bytesOf(prompt)) - cacheRead, cacheRead, cacheWrite: 0 };
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length += 1;
  return length;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
