import { expect, test } from "bun:test";
import type { Figures } from "./measure.ts";
import { median, renderTables, type Round } from "./table.ts";

function roundOf(ms: number): Round {
  const tokens = { system: ms, tools: 0, messages: 0, total: ms };
  const figures: Figures = {
    wholeMs: ms,
    firstRequestMs: ms,
    cpuMs: ms,
    tokens,
    growthBytes: ms,
    peak: { rssBytes: ms * 1e6, pssBytes: ms * 1e6, samples: 1 },
  };
  return {
    calls20: figures,
    calls100: { ...figures, wholeMs: ms * 2 },
    big: figures,
    memory20: figures,
    memoryBig: figures,
    cold: figures,
  };
}

test("a median is the middle value, or the mean of the two middle values", () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 3, 2])).toBe(2.5);
});

test("a ratio compares with the best peer, and shows whether the goal is met", () => {
  const results = new Map([
    ["pi", [roundOf(300), roundOf(400), roundOf(500)]],
    ["codex", [roundOf(200)]],
    ["skein", [roundOf(40)]],
  ]);
  const lines = renderTables(results).split("\n");
  const cells = (start: string): string[] =>
    lines
      .find((line) => line.startsWith(`| ${start}`))!
      .split("|")
      .map((cell) => cell.trim());
  expect(cells("start")).toEqual(["", "start → first request, ms", "400", "200", "40", "0.20", "≤ 0.20", "yes", ""]);
  expect(cells("growth").slice(5, 8)).toEqual(["0.20", "≤ 1.00", "yes"]);
  expect(renderTables(new Map([...results, ["skein", [roundOf(150)]]]))).toMatch(/first request, tokens .* 0\.75 \| +≤ 0\.60 \| +no/);
});

test("an earlier build of skein is no peer and has a ratio of its own", () => {
  const results = new Map([
    ["pi", [roundOf(200)]],
    ["skein", [roundOf(40)]],
    ["before", [roundOf(50)]],
  ]);
  expect(renderTables(results)).toMatch(/first request, ms +\| +200 \| +40 \| +50 \| +0\.20 \| +≤ 0\.20 \| +yes \| +0\.80 \|/);
});

test("without skein the table has only the peers", () => {
  expect(renderTables(new Map([["pi", [roundOf(10)]]]))).not.toContain("ratio");
});
