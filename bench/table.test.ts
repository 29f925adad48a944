import { expect, test } from "bun:test";
import { addValue, median, renderTables, type Results, type RowName } from "./table.ts";

function resultsOf(values: Record<string, number[]>, row: RowName = "firstRequest"): Results {
  const results: Results = new Map();
  for (const [name, list] of Object.entries(values)) for (const value of list) addValue(results, name, row, value);
  return results;
}

function cellsOf(results: Results, start: string): string[] {
  const line = renderTables(results)
    .split("\n")
    .find((text) => text.startsWith(`| ${start}`))!;
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

test("a median is the middle value, or the mean of the two middle values", () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 3, 2])).toBe(2.5);
});

test("a ratio compares with the best peer, and shows whether the goal is met", () => {
  const results = resultsOf({ pi: [300, 400, 500], codex: [200], floor: [5], skein: [20] });
  expect(cellsOf(results, "start")).toEqual(["start → first request, ms", "400", "200", "5", "20", "0.10", "≤ 0.10", "yes"]);
  expect(cellsOf(resultsOf({ pi: [200], skein: [150] }, "tokens"), "first request").slice(3)).toEqual(["0.75", "≤ 0.50", "no"]);
});

test("a goal without a peer is a value of skein itself", () => {
  expect(cellsOf(resultsOf({ pi: [], skein: [1.15] }, "gapGrowth"), "gap").slice(1)).toEqual(["1.15", "–", "≤ 1.20", "yes"]);
});

test("a contender without values in a row has a dash, and a row without values is left out", () => {
  const results = resultsOf({ pi: [300], skein: [20] });
  addValue(results, "skein", "long4000", 48);
  expect(cellsOf(results, "continue")).toEqual(["continue 4,000 nodes → first request, ms", "–", "48", "–", "", ""]);
  expect(renderTables(results)).not.toContain("2,000 calls");
});

test("an earlier build of skein is no peer and has a ratio of its own", () => {
  const results = resultsOf({ pi: [200], skein: [40], before: [50] });
  expect(cellsOf(results, "start").slice(1)).toEqual(["200", "40", "50", "0.20", "≤ 0.10", "no", "0.80"]);
});

test("without skein the table has only the peers", () => {
  expect(renderTables(resultsOf({ pi: [10] }))).not.toContain("ratio");
});
