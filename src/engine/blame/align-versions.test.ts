// Alignments of random versions: every run must join equal lines, in order, and unique lines must not be lost.
import { expect, test } from "bun:test";
import { alignVersions } from "./align-versions.ts";
import { diffLines } from "./diff-lines.ts";
import { commonLength, lineAt, linesOf, splitLines } from "./line-text.ts";
import { findMovedLines, uncovered } from "./moved-lines.ts";

const textOf = (lines: readonly string[]) => splitLines(Buffer.from(lines.map((line) => `${line}\n`).join("")));

function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomVersions(seed: number): [string[], string[]] {
  const random = randomFrom(seed);
  let count = 0;
  const newLine = () => (random(4) === 0 ? ["}", "", "{"][random(3)]! : `a unique line with the number ${(count += 1)}`);
  const before = Array.from({ length: random(300) }, newLine);
  const after = [...before];
  for (let edit = 0; edit < random(8); edit++)
    after.splice(random(after.length + 1), random(5), ...Array.from({ length: random(5) }, newLine));
  return [before, after];
}

test("an alignment joins equal lines in order, and finds every unique line that stayed", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const [before, after] = randomVersions(seed);
    const a = textOf(before);
    const { text, runs } = alignVersions(a, textOf(after).bytes);
    expect(linesOf(text)).toEqual(after);
    let [lastA, lastB] = [0, 0];
    const matched = new Set<string>();
    for (const run of runs) {
      expect(run.a).toBeGreaterThanOrEqual(lastA);
      expect(run.b).toBeGreaterThanOrEqual(lastB);
      for (let index = 0; index < run.length; index++) {
        expect(lineAt(a, run.a + index)).toBe(lineAt(text, run.b + index));
        matched.add(lineAt(a, run.a + index));
      }
      [lastA, lastB] = [run.a + run.length, run.b + run.length];
    }
    const kept = before.filter((line) => line.startsWith("a unique") && after.includes(line));
    expect(kept.filter((line) => !matched.has(line))).toEqual([]);
  }
});

test("a text without a last line break, an empty text and a text of line breaks are split into their lines", () => {
  expect(linesOf(splitLines(Buffer.from("")))).toEqual([]);
  expect(linesOf(splitLines(Buffer.from("\n\n")))).toEqual(["", ""]);
  expect(alignVersions(textOf([]), Buffer.from("a\nb\n")).runs).toEqual([]);
  expect(alignVersions(textOf(["a", "b"]), Buffer.from("")).text.count).toBe(0);
});

test("the common length is exact at every distance", () => {
  const a = Buffer.alloc(3_000, 65);
  for (const at of [0, 1, 63, 64, 255, 256, 257, 1_500, 2_999]) {
    const b = Buffer.from(a);
    b[at] = 66;
    expect(commonLength(a, 0, b, 0)).toBe(at);
  }
  expect(commonLength(a, 0, a.subarray(0, 700), 0)).toBe(700);
});

test("lines without a unique one are matched by their longest common order", () => {
  const runs = diffLines(["}", "{", "}", "}"], ["{", "{", "}", "{", "}"]);
  expect(runs.reduce((sum, { length }) => sum + length, 0)).toBe(3);
});

test("a short line that occurs once does not decide: most lines in the same order stay", () => {
  const runs = diffLines(["old first line", "}", "", "", "old last line"], ["", "", "}", "new last line"]);
  expect(runs).toEqual([{ a: 2, b: 0, length: 2 }]);
});

test("a moved block is found, and a lone brace is not", () => {
  const before = textOf(["const first = computeSomething();", "}", "middle of the file", "last of the file"]);
  const after = textOf(["middle of the file", "last of the file", "const first = computeSomething();", "}"]);
  const { runs } = alignVersions(before, after.bytes);
  const gaps = { before: uncovered(runs, before.count, "a"), after: uncovered(runs, after.count, "b") };
  const moved = findMovedLines({ text: before, gaps: gaps.before }, { text: after, gaps: gaps.after }, 20);
  expect(moved).toEqual([{ a: 0, b: 2, length: 2 }]);
  const brace = textOf(["}"]);
  expect(findMovedLines({ text: brace, gaps: [{ from: 0, to: 1 }] }, { text: brace, gaps: [{ from: 0, to: 1 }] }, 20)).toEqual([]);
});
