// Finds lines that were moved inside a file, or from one file to another, in one change. Pure.
import type { Run } from "./diff-lines.ts";
import { countWordCharacters, lineAt, type LineText } from "./line-text.ts";

/** More equal lines than this are not tried. */
const maxCandidates = 16;

/** The lines of one side that no run covers, as ranges. */
export function uncovered(runs: readonly Run[], count: number, side: "a" | "b"): Gap[] {
  const gaps: Gap[] = [];
  let next = 0;
  for (const run of runs.toSorted((left, right) => left[side] - right[side])) {
    if (run[side] > next) gaps.push({ from: next, to: run[side] });
    next = run[side] + run.length;
  }
  if (next < count) gaps.push({ from: next, to: count });
  return gaps;
}

/** A range of lines; `to` is not part of it. */
export type Gap = { from: number; to: number };

type LineSource = { text: LineText; gaps: readonly Gap[] };

/**
 * Finds blocks of `source` among the lines in `gaps` of `text`: moved lines. Returns runs from the source to the text.
 * A block with fewer than `minCharacters` letters and digits does not count: anybody could have typed it again.
 */
export function findMovedLines(source: LineSource, { text, gaps }: LineSource, minCharacters: number): Run[] {
  const positions = new Map<string, number[]>();
  const unused = new Set<number>();
  for (const { from, to } of source.gaps)
    for (let index = from; index < to; index++) {
      const line = lineAt(source.text, index);
      const same = positions.get(line);
      if (same === undefined) positions.set(line, [index]);
      else if (same.length < maxCandidates) same.push(index);
      unused.add(index);
    }
  const runs: Run[] = [];
  for (const { from, to } of gaps)
    for (let b = from; b < to;) {
      let best = { a: -1, length: 0, characters: 0 };
      for (const a of positions.get(lineAt(text, b)) ?? []) {
        const block = blockAt({ source: source.text, a, unused }, { text, b, to });
        if (block.length > best.length) best = { a, ...block };
      }
      if (best.characters < minCharacters) {
        b += 1;
        continue;
      }
      for (let index = 0; index < best.length; index++) unused.delete(best.a + index);
      runs.push({ a: best.a, b, length: best.length });
      b += best.length;
    }
  return runs;
}

function blockAt(
  { source, a, unused }: { source: LineText; a: number; unused: Set<number> },
  { text, b, to }: { text: LineText; b: number; to: number },
): { length: number; characters: number } {
  let [length, characters] = [0, 0];
  while (b + length < to && unused.has(a + length)) {
    const line = lineAt(text, b + length);
    if (line !== lineAt(source, a + length)) break;
    characters += countWordCharacters(line);
    length += 1;
  }
  return { length, characters };
}
