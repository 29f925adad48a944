// How many tokens a text has, by a real tokenizer. Its table takes up to a second and eighty megabytes: it is loaded
// only where something is counted, never in a process that runs turns.
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

/** A word is weighed in the square of its length, and nobody writes words like these. */
const longestWord = 400;
const longWord = new RegExp(String.raw`([\p{L}\p{M}]{${longestWord},}|[^\s\p{L}\p{N}]{${longestWord},}|\s{${longestWord},})`, "u");
const pieces = new RegExp(String.raw`[\s\S]{1,${longestWord}}`, "gu");

/** Of a word longer than that each piece is counted: at most one token more for each. */
export function countTextTokens(text: string): number {
  return text.split(longWord).reduce((sum, part, at) => sum + (at % 2 === 0 ? plain(part) : long(part)), 0);
}

function long(word: string): number {
  return (word.match(pieces) ?? []).reduce((sum, piece) => sum + plain(piece), 0);
}

/** A text that looks like a token with a meaning is text here. */
function plain(text: string): number {
  return text === "" ? 0 : countTokens(text, { disallowedSpecial: new Set() });
}
