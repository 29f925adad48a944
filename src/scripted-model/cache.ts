// A fake prompt cache with token counts. Four bytes are one token.
// For Anthropic an entry ends at each breakpoint of the client. For other vendors any common prefix is cached.
import type { PromptPiece, ServerWireName } from "./wires/wire.ts";

export type CountPrompt = (wire: ServerWireName, pieces: PromptPiece[]) => { input: number; cacheRead: number; cacheWrite: number };

export const countUncached: CountPrompt = (_wire, pieces) => ({
  input: tokensOf(pieces.map(({ text }) => text).join("")),
  cacheRead: 0,
  cacheWrite: 0,
});

export function createPromptCache(): CountPrompt {
  const entries = new Set<string>();
  const prompts: string[] = [];
  return (wire, pieces) => (wire === "anthropic" ? countMarked(pieces, entries) : countAutomatic(pieces, prompts));
}

export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

function countMarked(pieces: PromptPiece[], entries: Set<string>): ReturnType<CountPrompt> {
  let prefix = "";
  let cachedPrefix = "";
  /** The prompt up to the last breakpoint. */
  let markedPrefix = "";
  for (const piece of pieces) {
    prefix += piece.text;
    if (entries.has(prefix)) cachedPrefix = prefix;
    if (!piece.breakpoint) continue;
    markedPrefix = prefix;
    entries.add(prefix);
  }
  // Without a breakpoint the vendor neither reads nor writes the cache.
  const cacheRead = tokensOf(markedPrefix === "" ? "" : cachedPrefix);
  const marked = tokensOf(markedPrefix);
  return { input: tokensOf(prefix) - Math.max(marked, cacheRead), cacheRead, cacheWrite: Math.max(0, marked - cacheRead) };
}

function countAutomatic(pieces: PromptPiece[], prompts: string[]): ReturnType<CountPrompt> {
  const prompt = pieces.map((piece) => piece.text).join("");
  const length = Math.max(0, ...prompts.map((other) => commonLength(prompt, other)));
  prompts.push(prompt);
  const cacheRead = tokensOf(prompt.slice(0, length));
  return { input: tokensOf(prompt) - cacheRead, cacheRead, cacheWrite: 0 };
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length += 1;
  return length;
}
