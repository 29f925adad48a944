// A fake prompt cache and the token counts that follow from it: four bytes are one token, always.
// Where the client sets breakpoints (Anthropic) an entry ends at each; elsewhere any common beginning counts.
import type { PromptPiece, ServerWireName } from "./wires/wire.ts";

export type CountPrompt = (protocol: ServerWireName, pieces: PromptPiece[]) => { input: number; cacheRead: number; cacheWrite: number };

export const countUncached: CountPrompt = (_protocol, pieces) => ({
  input: tokensForBytes(pieces.reduce((sum, piece) => sum + bytesOf(piece.text), 0)),
  cacheRead: 0,
  cacheWrite: 0,
});

export function createPromptCache(): CountPrompt {
  const written = new Set<string>();
  const seen: string[] = [];
  return (protocol, pieces) => (protocol === "anthropic" ? countMarked(pieces, written) : countAutomatic(pieces, seen));
}

export function tokensForBytes(bytes: number): number {
  return Math.ceil(bytes / 4);
}

function countMarked(pieces: PromptPiece[], written: Set<string>): ReturnType<CountPrompt> {
  let prefix = "";
  let hit = "";
  let marked = "";
  for (const piece of pieces) {
    prefix += piece.text;
    if (written.has(prefix)) hit = prefix;
    if (piece.breakpoint) marked = prefix;
  }
  // A client without a breakpoint neither reads nor writes.
  const read = marked === "" ? "" : hit;
  let entry = "";
  for (const piece of pieces) {
    entry += piece.text;
    if (piece.breakpoint) written.add(entry);
  }
  const counts = [tokensForBytes(bytesOf(prefix)), tokensForBytes(bytesOf(marked)), tokensForBytes(bytesOf(read))] as const;
  return { input: counts[0] - Math.max(counts[1], counts[2]), cacheRead: counts[2], cacheWrite: Math.max(0, counts[1] - counts[2]) };
}

function countAutomatic(pieces: PromptPiece[], seen: string[]): ReturnType<CountPrompt> {
  const prompt = pieces.map((piece) => piece.text).join("");
  const length = Math.max(0, ...seen.map((other) => commonLength(prompt, other)));
  seen.push(prompt);
  const cacheRead = tokensForBytes(bytesOf(prompt.slice(0, length)));
  return { input: tokensForBytes(bytesOf(prompt)) - cacheRead, cacheRead, cacheWrite: 0 };
}

function commonLength(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at += 1;
  return at;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
