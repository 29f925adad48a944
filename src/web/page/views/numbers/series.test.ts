import { expect, test } from "bun:test";
import { zeroUsage } from "../../../../protocol/tree/usage.ts";
import { otherKeys, periods, periodStart, periodSteps, seriesOf, stacked } from "./series.ts";

const now = new Date(2026, 10, 18, 13, 45).getTime();
const at = (day: number, hour = 0) => new Date(2026, 10, day, hour).getTime();
const point = (key: string, time: number, costUsd: number | null) => ({
  at: time,
  key,
  turns: 1,
  usage: { ...zeroUsage, input: 100, output: 5 },
  costUsd: costUsd ?? 0,
  ...(costUsd === null ? { costIsPartial: true as const } : {}),
  unpriced: costUsd === null ? 1 : 0,
});

test("a period has a start for each of its steps, also for those without a turn", () => {
  for (const period of periods) {
    const starts = periodSteps(period, now);
    expect(starts).toHaveLength(period.steps);
    expect(starts[0]).toBe(periodStart(period, now));
    expect(starts.at(-1)!).toBeLessThanOrEqual(now);
  }
  expect(periodSteps(periods[1]!, now).at(-1)).toBe(at(18));
  expect(periodStart(periods[3]!, now)).toBe(new Date(2026, 7, 24).getTime());
  expect(periodStart(periods[4]!, now)).toBe(new Date(2025, 11, 1).getTime());
});

test("each key is one series, the largest first, and its bar stands on those below", () => {
  const starts = [at(17), at(18)];
  const points = [point("codex", at(17), 1), point("native", at(18), 3), point("codex", at(18), 1), point("old", at(1), 9)];
  const series = seriesOf(points, starts, "cost");
  expect(series.map(({ key, values, turns }) => [key, values, turns])).toEqual([
    ["native", [0, 3], 1],
    ["codex", [1, 1], 2],
  ]);
  expect(stacked(series)).toEqual([
    [1, 4],
    [0, 3],
  ]);
  expect(seriesOf(points, starts, "tokens").map(({ key, values }) => [key, values])).toEqual([
    ["codex", [105, 105]],
    ["native", [0, 105]],
  ]);
});

test("small keys are one series, and unknown prices stay unknown", () => {
  const points = Array.from({ length: 12 }, (_, index) => point(`agent${index}`, at(18), index < 2 ? null : index));
  const series = seriesOf(points, [at(18)], "cost");
  expect(series).toHaveLength(8);
  expect(series.at(-1)).toMatchObject({ key: otherKeys, turns: 5, values: [2 + 3 + 4], spent: { costIsPartial: true } });
});
