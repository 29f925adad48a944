// Finds text in the transcript. It searches the raw text of all blocks, folded or not, and lays out only matching blocks
// to find their rows.
import { inputText } from "../cards/tool.ts";
import type { Block } from "../model/blocks.ts";
import { styled, type Row } from "../layout/wrap.ts";
import type { State } from "../model/state.ts";
import { allBlocks, blockAt } from "../model/transcript.ts";
import { stripsAt, type ScrollPosition } from "../views/window.ts";

/** Case-sensitive only if the query has a capital letter. Null for an empty query. */
export function patternOf(query: string): RegExp | null {
  return query === "" ? null : new RegExp(RegExp.escape(query), /\p{Lu}/u.test(query) ? "gu" : "giu");
}

const lowerCaseTexts = new WeakMap<Block, string>();

export function findBlocks(state: State, query: string): number[] {
  const isExact = /\p{Lu}/u.test(query);
  const needle = isExact ? query : query.toLowerCase();
  return allBlocks(state.transcript).flatMap((block, index) =>
    (isExact ? searchText(block) : lowerCaseText(block)).includes(needle) ? [index] : [],
  );
}

function lowerCaseText(block: Block): string {
  const cached = lowerCaseTexts.get(block);
  if (cached !== undefined) return cached;
  const text = searchText(block).toLowerCase();
  lowerCaseTexts.set(block, text);
  return text;
}

function searchText(block: Block): string {
  switch (block.kind) {
    case "tool":
      return [block.name, inputText(block.input), block.result?.text ?? block.output].join("\n");
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

/** Returns the matching rows of a block, or its first row if the match is broken across rows. */
export function findRows(state: State, block: number, pattern: RegExp): ScrollPosition[] {
  if (blockAt(state.transcript, block) === undefined) return [];
  const positions = stripsAt(state, block).flatMap((strip, index) =>
    strip().flatMap((row, rowIndex): ScrollPosition[] => (matches(row, pattern) ? [{ block, strip: index, row: rowIndex }] : [])),
  );
  return positions.length > 0 ? positions : [{ block, strip: 0, row: 0 }];
}

function matches(row: Row, pattern: RegExp): boolean {
  pattern.lastIndex = 0;
  return pattern.test(row.map(({ text }) => text).join(""));
}

export function highlightRow(row: Row, pattern: RegExp): Row {
  const rowText = row.map(({ text }) => text).join("");
  const ranges = [...rowText.matchAll(pattern)].map(({ index, 0: text }) => ({ start: index, end: index + text.length }));
  if (ranges.length === 0) return row;
  let offset = 0;
  return row.flatMap(({ text, style }) => {
    const runStart = offset;
    offset += text.length;
    const edges = ranges.flatMap(({ start, end }) => [start, end]).filter((edge) => edge > runStart && edge < offset);
    const cuts = [runStart, ...edges, offset];
    return cuts.slice(0, -1).map((from, piece) => {
      const isMatch = ranges.some(({ start, end }) => start <= from && from < end);
      return styled(text.slice(from - runStart, cuts[piece + 1]! - runStart), isMatch ? { ...style, inverse: true } : style);
    });
  });
}
