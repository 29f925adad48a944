// Finds the common lines of two lists of lines, in order. Long lines that occur once in both lists decide first, as in a
// patience diff: such lines are seldom matched wrongly. Pure.
import { countWordCharacters } from "./line-text.ts";

/** `length` lines from `a` on in the first list equal those from `b` on in the second. */
export type Run = { a: number; b: number; length: number };

type Range = { a: number; endA: number; b: number; endB: number };

/** A table of more cells is not computed: its lines count as changed. */
const maxTableCells = 250_000;
/** A line with fewer letters and digits is short: it can't be recognised by its text. */
const minAnchorCharacters = 20;

/** Returns the runs in order. `shiftA` and `shiftB` are added to their positions. */
export function diffLines(a: readonly string[], b: readonly string[], shiftA = 0, shiftB = 0): Run[] {
  const runs: Run[] = [];
  const pending: Range[] = [{ a: 0, endA: a.length, b: 0, endB: b.length }];
  for (let range = pending.pop(); range !== undefined; range = pending.pop()) {
    const inner = trimRange(a, b, range, runs);
    if (inner.a === inner.endA || inner.b === inner.endB) continue;
    // A short line that occurs once may be a new one, so it decides only where a table would be too big.
    const minCharacters = cellsIn(inner) > maxTableCells ? 0 : minAnchorCharacters;
    const anchors = uniqueAnchors(a, b, inner, minCharacters);
    if (anchors.length === 0) tableRuns(a, b, inner, runs);
    else pending.push(...rangesBetween(anchors, inner, runs));
  }
  return joinRuns(runs, shiftA, shiftB);
}

/** Adds the equal lines at both ends to `runs`. Returns the lines between them. */
function trimRange(a: readonly string[], b: readonly string[], range: Range, runs: Run[]): Range {
  let { a: startA, endA, b: startB, endB } = range;
  while (startA < endA && startB < endB && a[startA] === b[startB]) {
    startA += 1;
    startB += 1;
  }
  if (startA > range.a) runs.push({ a: range.a, b: range.b, length: startA - range.a });
  while (startA < endA && startB < endB && a[endA - 1] === b[endB - 1]) {
    endA -= 1;
    endB -= 1;
  }
  if (endA < range.endA) runs.push({ a: endA, b: endB, length: range.endA - endA });
  return { a: startA, endA, b: startB, endB };
}

/** Pairs of lines that occur once on each side, in an order that both sides have. Shorter lines are left out. */
function uniqueAnchors(a: readonly string[], b: readonly string[], range: Range, minCharacters: number): [number, number][] {
  const inA = positionsOfUnique(a, range.a, range.endA);
  const inB = positionsOfUnique(b, range.b, range.endB);
  const pairs: [number, number][] = [];
  for (const [line, position] of inA) {
    const other = position < 0 ? undefined : inB.get(line);
    if (other !== undefined && other >= 0 && countWordCharacters(line) >= minCharacters) pairs.push([position, other]);
  }
  return longestIncreasing(pairs);
}

/** The position of each line; -1 if it occurs more than once. */
function positionsOfUnique(lines: readonly string[], start: number, end: number): Map<string, number> {
  const positions = new Map<string, number>();
  for (let index = start; index < end; index++) positions.set(lines[index]!, positions.has(lines[index]!) ? -1 : index);
  return positions;
}

/** The longest selection of pairs whose second numbers increase. The first numbers increase already. */
function longestIncreasing(pairs: readonly [number, number][]): [number, number][] {
  const ends: number[] = [];
  const previous = new Int32Array(pairs.length);
  for (const [index, [, value]] of pairs.entries()) {
    let low = 0;
    for (let high = ends.length; low < high;) {
      const middle = (low + high) >> 1;
      if (pairs[ends[middle]!]![1] < value) low = middle + 1;
      else high = middle;
    }
    previous[index] = low === 0 ? -1 : ends[low - 1]!;
    ends[low] = index;
  }
  const chosen: [number, number][] = [];
  for (let index = ends.at(-1) ?? -1; index >= 0; index = previous[index]!) chosen.push(pairs[index]!);
  return chosen.toReversed();
}

/** Adds the anchors to `runs`. Returns the ranges between them. */
function rangesBetween(anchors: readonly [number, number][], { a, endA, b, endB }: Range, runs: Run[]): Range[] {
  const ranges: Range[] = [];
  let [lastA, lastB] = [a, b];
  for (const [atA, atB] of anchors) {
    ranges.push({ a: lastA, endA: atA, b: lastB, endB: atB });
    runs.push({ a: atA, b: atB, length: 1 });
    [lastA, lastB] = [atA + 1, atB + 1];
  }
  ranges.push({ a: lastA, endA, b: lastB, endB });
  return ranges;
}

function cellsIn({ a, endA, b, endB }: Range): number {
  return (endA - a) * (endB - b);
}

/** The longest common lines of a small range, by a table. */
function tableRuns(a: readonly string[], b: readonly string[], range: Range, runs: Run[]): void {
  const [rows, columns] = [range.endA - range.a, range.endB - range.b];
  if (cellsIn(range) > maxTableCells) return;
  const width = columns + 1;
  const table = new Uint16Array((rows + 1) * width);
  for (let row = rows - 1; row >= 0; row--)
    for (let column = columns - 1; column >= 0; column--)
      table[row * width + column] =
        a[range.a + row] === b[range.b + column]
          ? table[(row + 1) * width + column + 1]! + 1
          : Math.max(table[(row + 1) * width + column]!, table[row * width + column + 1]!);
  for (let row = 0, column = 0; row < rows && column < columns;) {
    if (a[range.a + row] === b[range.b + column]) runs.push({ a: range.a + row++, b: range.b + column++, length: 1 });
    else if (table[(row + 1) * width + column]! >= table[row * width + column + 1]!) row += 1;
    else column += 1;
  }
}

function joinRuns(runs: Run[], shiftA: number, shiftB: number): Run[] {
  const joined: Run[] = [];
  for (const { a, b, length } of runs.toSorted((left, right) => left.a - right.a)) {
    const last = joined.at(-1);
    if (last !== undefined && last.a + last.length === a + shiftA && last.b + last.length === b + shiftB) last.length += length;
    else joined.push({ a: a + shiftA, b: b + shiftB, length });
  }
  return joined;
}
