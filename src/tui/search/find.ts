// Where words stand in the transcript. Blocks are asked for their text, folded or not; only a block that has the words
// is laid out, to see in which of its rows.
import type { Block } from "../model/blocks.ts";
import type { Row } from "../layout/wrap.ts";
import type { State } from "../model/state.ts";
import { allBlocks, blockAt } from "../model/transcript.ts";
import { stripsAt, type ScrollPosition } from "../views/window.ts";

/** Capital letters mean themselves, small ones both. */
export function patternOf(query: string): RegExp | null {
  return query === "" ? null : new RegExp(RegExp.escape(query), /\p{Lu}/u.test(query) ? "gu" : "giu");
}

const lowered = new WeakMap<Block, string>();

/** The numbers of the blocks that have the words. */
export function findBlocks(state: State, query: string): number[] {
  const isExact = /\p{Lu}/u.test(query);
  const wanted = isExact ? query : query.toLowerCase();
  return allBlocks(state.transcript).flatMap((block, at) => ((isExact ? wordsOf(block) : loweredOf(block)).includes(wanted) ? [at] : []));
}

function loweredOf(block: Block): string {
  const known = lowered.get(block);
  if (known !== undefined) return known;
  const words = wordsOf(block).toLowerCase();
  lowered.set(block, words);
  return words;
}

function wordsOf(block: Block): string {
  switch (block.kind) {
    case "tool":
      return [block.name, wordsIn(block.input), block.result?.text ?? block.output].join("\n");
    case "session":
      return `${block.agent}\n${block.task}\n${block.lastOutput}`;
    case "error":
      return `${block.text}\n${block.hint ?? ""}`;
    case "image":
      return block.image.mime;
    default:
      return block.text;
  }
}

function wordsIn(input: Record<string, unknown> | string): string {
  if (typeof input === "string") return input;
  return Object.values(input)
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .join("\n");
}

/** The rows of one block that have the words, in order. Words that a row's end breaks in two are found with the block. */
export function findRows(state: State, at: number, pattern: RegExp): ScrollPosition[] {
  if (blockAt(state.transcript, at) === undefined) return [];
  const places = stripsAt(state, at).flatMap((strip, index) =>
    strip().flatMap((row, inStrip): ScrollPosition[] => (has(row, pattern) ? [{ block: at, strip: index, row: inStrip }] : [])),
  );
  return places.length > 0 ? places : [{ block: at, strip: 0, row: 0 }];
}

function has(row: Row, pattern: RegExp): boolean {
  pattern.lastIndex = 0;
  return pattern.test(row.map(({ text }) => text).join(""));
}

/** The same row with the words standing out. */
export function highlightRow(row: Row, pattern: RegExp): Row {
  const whole = row.map(({ text }) => text).join("");
  const found = [...whole.matchAll(pattern)].map(({ index, 0: text }) => ({ from: index, to: index + text.length }));
  if (found.length === 0) return row;
  let at = 0;
  return row.flatMap(({ text, style: style }) => {
    const start = at;
    at += text.length;
    const edges = found.flatMap(({ from, to }) => [from, to]).filter((edge) => edge > start && edge < at);
    const cuts = [start, ...edges, at];
    return cuts.slice(0, -1).map((from, piece) => {
      const isFound = found.some((match) => match.from <= from && from < match.to);
      return { text: text.slice(from - start, cuts[piece + 1]! - start), style: isFound ? { ...style, inverse: true } : style };
    });
  });
}
