// Counts tokens with a real tokenizer. Its table takes up to a second and 80 MB to load, so it is loaded only in a
// process that counts, never in one that runs turns.
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

/** The tokenizer needs quadratic time for a word, and real words are shorter. */
const maxWordLength = 400;
const longWord = new RegExp(String.raw`([\p{L}\p{M}]{${maxWordLength},}|[^\s\p{L}\p{N}]{${maxWordLength},}|\s{${maxWordLength},})`, "u");
const pieces = new RegExp(String.raw`[\s\S]{1,${maxWordLength}}`, "gu");

/** A longer word is counted in pieces, which adds at most one token for each piece. */
export function countTextTokens(text: string): number {
  return text.split(longWord).reduce((sum, part, index) => sum + (index % 2 === 0 ? countPlain(part) : countLong(part)), 0);
}

function countLong(word: string): number {
  return (word.match(pieces) ?? []).reduce((sum, piece) => sum + countPlain(piece), 0);
}

/** A text that looks like a special token is counted as text. */
function countPlain(text: string): number {
  return text === "" ? 0 : countTokens(text, { disallowedSpecial: new Set() });
}
