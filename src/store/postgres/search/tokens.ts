// Splits text into the words that search finds, as SQLite's index does: letters, digits and _, without case and accents.
// Postgres' own parser makes one token of a path or a URL, so its index gets our tokens as a literal.
import type { NewNode } from "../../../protocol/tree/node.ts";

/** A word of a text, with its place in characters. */
export type Token = { word: string; start: number; end: number };

/** The most characters of a node that are indexed. */
const maxLength = 65_536;
/** Postgres refuses words of more than 2 KB. */
const maxWordLength = 200;
const maxPosition = 16_383;

export function tokensOf(text: string): Token[] {
  return [...text.matchAll(/[\p{L}\p{N}\p{M}\p{Co}_]+/gu)].map(({ 0: match, index }) => ({
    word: fold(match),
    start: index,
    end: index + match.length,
  }));
}

function fold(word: string): string {
  return word.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().slice(0, maxWordLength);
}

/** The searched text of a node: its words without the JSON syntax. */
export function nodeText(node: NewNode): string {
  const texts = node.parts.flatMap((part): string[] => {
    if (part.kind === "call") return [`${part.name} ${part.malformed ?? leavesOf(part.input).join(" ")}`];
    if (part.kind === "handle") return [part.excerpt ?? ""];
    if (part.kind === "image") return [];
    return [part.text];
  });
  return texts.join("\n").slice(0, maxLength);
}

function leavesOf(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (typeof value === "object") return Object.values(value).flatMap(leavesOf);
  return typeof value === "string" ? [value] : [JSON.stringify(value)];
}

/** The text as a literal of type tsvector. */
export function toVector(text: string): string {
  const positions = new Map<string, number[]>();
  for (const [index, { word }] of tokensOf(text).entries()) {
    const list = positions.get(word) ?? [];
    if (word !== "" && list.length < 256) list.push(Math.min(index + 1, maxPosition));
    if (list.length > 0) positions.set(word, list);
  }
  return [...positions].map(([word, list]) => `'${word}':${[...new Set(list)].join(",")}`).join(" ");
}

export type ParsedQuery = {
  /** Literals of type tsquery; null if there is nothing to search. */
  wholeWords: string | null;
  /** The same with the last word as a prefix; null if that is shorter than three letters. */
  prefix: string | null;
  /** The words of each term, in order; those of one term are adjacent. */
  phrases: string[][];
};

/** Every word must occur; "quoted words" must be adjacent. */
export function parseQuery(query: string): ParsedQuery {
  const terms = [...query.matchAll(/"([^"]*)"|([^\s"]+)/g)]
    .map(([, quoted, word]) => ({ words: tokensOf(quoted ?? word ?? "").map((token) => token.word), isWord: quoted === undefined }))
    .map(({ words, isWord }) => ({ words: words.filter((word) => word !== ""), isWord }))
    .filter(({ words }) => words.length > 0);
  const last = terms.at(-1);
  if (last === undefined) return { wholeWords: null, prefix: null, phrases: [] };
  const phrases = terms.map(({ words }) => words);
  const literals = phrases.map((words) => `(${words.map((word) => `'${word}'`).join(" <-> ")})`);
  const wholeWords = literals.join(" & ");
  const hasPrefix = last.isWord && last.words.join("").length >= 3;
  return { wholeWords, prefix: hasPrefix ? `${wholeWords.slice(0, -1)}:*)` : null, phrases };
}
