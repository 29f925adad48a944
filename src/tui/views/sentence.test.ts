import { expect, test } from "bun:test";
import { fitSentence } from "./sentence.ts";
import { cellsOf } from "../layout/wrap.ts";

const prefixes = { project: "/home/ada/work/engine", home: "/home/ada" };
const longPath = `/srv/${"deep/".repeat(12)}settings.json`;

test("a sentence that fits stays unchanged", () => {
  const text = "can't write /home/ada/work/engine/a.ts: it is protected";
  expect(fitSentence(text, 80, prefixes)).toBe(text);
});

test.each([
  ["/home/ada/work/engine/src/a.ts: it is a file", 30, "src/a.ts: it is a file"],
  ["can't write ~/work/engine/.git/config: it is protected", 50, "can't write .git/config: it is protected"],
  ["no room in /home/ada/other/place to write", 36, "no room in ~/other/place to write"],
  ["in /mnt/home/ada/x and '/home/ada/x'", 34, "in /mnt/home/ada/x and '~/x'"],
])("paths are shortened relative to the project, else to home: %p in %p cells", (text, cells, expected) => {
  expect(fitSentence(text, cells, prefixes)).toBe(expected);
});

test("a long sentence loses the middle of its paths, the longest first, never its end or a file name", () => {
  const text = `can't read ${longPath} for ${longPath}.bak: it is not there`;
  for (const cells of [80, 90, 120]) {
    const shown = fitSentence(text, cells, prefixes);
    expect(cellsOf(shown)).toBeLessThanOrEqual(cells);
    expect(shown).toMatch(/^can't read \/srv\S*…\S*\/settings\.json for \/\S*…\S*settings\.json\.bak: it is not there$/);
  }
});

test("a sentence that can't get shorter is cut at its end, and wide letters keep their cells", () => {
  expect(fitSentence("no path in here at all", 10, prefixes)).toBe("no path i…");
  for (const cells of [1, 20, 40])
    expect(cellsOf(fitSentence(`to /${"日本/".repeat(30)}👩‍👩‍👧.md, now`, cells, prefixes))).toBeLessThanOrEqual(cells);
  expect(fitSentence("/home/ada/x/y/z is gone", 12, { project: "", home: "/" })).toHaveLength(12);
});
