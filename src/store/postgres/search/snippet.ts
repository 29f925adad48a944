// The part of a node's text around the words that a search found.
import type { SearchHit } from "../../store.ts";
import { type Token, tokensOf } from "./tokens.ts";

const maxTokens = 24;

/** `phrases` are the searched words; `isPrefix`: the last one is only the beginning of a word. */
export function toSnippet(text: string, phrases: string[][], isPrefix: boolean): Pick<SearchHit, "snippet" | "marks"> {
  const tokens = tokensOf(text);
  const matches = findMatches(tokens, phrases, isPrefix);
  const first = matches[0]?.[0] ?? 0;
  const from = tokens.length <= maxTokens ? 0 : Math.max(0, Math.min(first - 4, tokens.length - maxTokens));
  const to = Math.min(tokens.length, from + maxTokens);
  const start = from === 0 ? 0 : tokens[from]!.start;
  const end = to === tokens.length ? text.length : tokens[to - 1]!.end;
  const head = from === 0 ? "" : "…";
  const marks = matches
    .filter(([match, last]) => match >= from && last < to)
    .map(([match, last]): [number, number] => [tokens[match]!.start - start + head.length, tokens[last]!.end - start + head.length]);
  return { snippet: `${head}${text.slice(start, end)}${to === tokens.length ? "" : "…"}`, marks };
}

/** The first and last token of each match, in order and without overlap. */
function findMatches(tokens: Token[], phrases: string[][], isPrefix: boolean): [number, number][] {
  const matches: [number, number][] = [];
  for (let index = 0; index < tokens.length; index += 1) {
    const phrase = phrases.find((words, number) =>
      matchesAt(tokens, index, { words, isPrefix: isPrefix && number === phrases.length - 1 }),
    );
    if (phrase === undefined) continue;
    matches.push([index, index + phrase.length - 1]);
    index += phrase.length - 1;
  }
  return matches;
}

function matchesAt(tokens: Token[], index: number, { words, isPrefix }: { words: string[]; isPrefix: boolean }): boolean {
  return words.every((word, offset) => {
    const found = tokens[index + offset]?.word;
    return isPrefix && offset === words.length - 1 ? found?.startsWith(word) === true : found === word;
  });
}
