// Finds the lines that two versions of a file share. Most of a file stays equal from turn to turn, so only the surroundings
// of a change are split into lines; everything else is compared as bytes.
import { diffLines, type Run } from "./diff-lines.ts";
import { commonLength, countWordCharacters, linesOf, LineStarts, splitLines, type LineText } from "./line-text.ts";

export type Alignment = { text: LineText; runs: Run[] };

/** Numbers of lines after a change in which the next common block is searched. Without one, the rest of both versions is changed. */
const windows = [64, 1_024];

/** A block counts as common again only if it has so many letters and digits: else a lone brace would end a change. */
const minBlockCharacters = 20;

/** `bytes` is empty or ends with a line break. */
export function alignVersions(before: LineText, bytes: Buffer): Alignment {
  const lines = new LineStarts(before.count);
  const runs: Run[] = [];
  let [a, position] = [0, 0];
  for (;;) {
    const equal = equalLines(before, a, bytes, position);
    if (equal > 0) {
      runs.push({ a, b: lines.count, length: equal });
      const shift = position - before.starts[a]!;
      lines.addShifted(before.starts, a, a + equal, shift);
      position = before.starts[a + equal]! + shift;
      a += equal;
    }
    if (position >= bytes.length) break;
    const change = a >= before.count ? null : nextCommonBlock(before, a, bytes, position);
    const added = change === null ? restOf(bytes, position) : change.added;
    const removed = linesOf(before, a, change === null ? before.count : a + change.removed);
    runs.push(...diffLines(removed, linesOf(added), a, lines.count));
    lines.addShifted(added.starts, 0, added.count, position);
    if (change === null) break;
    a += change.removed;
    position += added.bytes.length;
  }
  return { text: lines.toText(bytes), runs };
}

/** The number of lines from `a` on that are equal to the bytes at `position`. */
function equalLines({ bytes: bytesA, starts, count }: LineText, a: number, bytes: Buffer, position: number): number {
  if (a >= count) return 0;
  const start = starts[a]!;
  const end = start + commonLength(bytesA, start, bytes, position);
  let low = a;
  for (let high = count; low < high;) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= end) low = middle;
    else high = middle - 1;
  }
  return low - a;
}

function restOf(bytes: Buffer, position: number): LineText {
  return splitLines(bytes.subarray(position));
}

type Change = { removed: number; added: LineText };

/** The lines up to the nearest block that both versions have; null if there is none nearby. */
function nextCommonBlock(before: LineText, a: number, bytes: Buffer, position: number): Change | null {
  for (const size of windows) {
    const removable = linesOf(before, a, Math.min(before.count, a + size));
    const added = firstLines(bytes, position, size);
    const block = nearestBlock(removable, linesOf(added));
    if (block === null) continue;
    const end = added.starts[block.b]!;
    return { removed: block.a, added: { bytes: added.bytes.subarray(0, end), starts: added.starts, count: block.b } };
  }
  return null;
}

function firstLines(bytes: Buffer, position: number, size: number): LineText {
  let end = position;
  for (let count = 0; count < size && end < bytes.length; count++) end = bytes.indexOf(10, end) + 1;
  return splitLines(bytes.subarray(position, end));
}

/** For a line that the first version has more often, only its first 16 positions are tried. */
const maxCandidates = 16;

/** The first block of equal lines with enough text. */
function nearestBlock(a: readonly string[], b: readonly string[]): { a: number; b: number } | null {
  const positions = new Map<string, number[]>();
  for (const [index, line] of a.entries()) {
    const same = positions.get(line);
    if (same === undefined) positions.set(line, [index]);
    else if (same.length < maxCandidates) same.push(index);
  }
  let best: { a: number; b: number } | null = null;
  for (let atB = 0; atB < b.length && (best === null || atB < best.a + best.b); atB++)
    for (const atA of positions.get(b[atB]!) ?? []) {
      const isNearer = best === null || atA + atB < best.a + best.b;
      if (isNearer && isRecognisable(a, atA, b, atB)) best = { a: atA, b: atB };
    }
  return best;
}

function isRecognisable(a: readonly string[], atA: number, b: readonly string[], atB: number): boolean {
  let characters = 0;
  for (let index = 0; atA + index < a.length && atB + index < b.length && a[atA + index] === b[atB + index]; index++) {
    characters += countWordCharacters(a[atA + index]!);
    if (characters >= minBlockCharacters) return true;
  }
  return false;
}
