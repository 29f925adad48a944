import { expect, test } from "bun:test";
import { ago, formatDuration, parseDuration } from "./duration.ts";

test("parseDuration reads seconds and units, and returns null for other text", () => {
  const cases: [string, number | null][] = [
    ["90", 90_000],
    ["90s", 90_000],
    ["10m", 600_000],
    ["2h", 7_200_000],
    ["30d", 2_592_000_000],
    ["1.5m", 90_000],
    ["250ms", 250],
    [" 5 s ", 5_000],
    ["0", 0],
    ["", null],
    ["-5", null],
    ["5x", null],
    ["1e3", null],
    ["m", null],
    ["99999999999999999999h", null],
  ];
  for (const [text, ms] of cases) expect([text, parseDuration(text)]).toEqual([text, ms]);
});

test("formatDuration uses the largest fitting units", () => {
  const cases: [number, string][] = [
    [0, "0 ms"],
    [340.4, "340 ms"],
    [1240, "1.2 s"],
    [59_940, "59.9 s"],
    [59_990, "1 m 00 s"],
    [185_000, "3 m 05 s"],
    [7_800_000, "2 h 10 m"],
  ];
  for (const [ms, text] of cases) expect(formatDuration(ms)).toBe(text);
});

test("ago uses the largest unit", () => {
  const day = 86_400_000;
  expect([-5, 59_999, 60_000, 7_200_000, day, 8 * day, 45 * day, 800 * day].map(ago)).toEqual([
    "just now",
    "just now",
    "1 minute ago",
    "2 hours ago",
    "1 day ago",
    "1 week ago",
    "1 month ago",
    "2 years ago",
  ]);
});
