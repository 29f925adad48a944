// The data of the chart: for each agent, model or project its sums over the steps of a period. Pure.
import type { UsagePoint, UsageStep } from "../../../../protocol/schema/views/usage-views.ts";
import { addSpent, costOf, zeroSpent, type Spent } from "../../../../protocol/tree/usage.ts";
import { totalInput } from "../../../../protocol/tree/usage-text.ts";

export type Measure = "cost" | "tokens";
export type Period = { name: string; title: string; step: UsageStep; steps: number };

export const periods: readonly Period[] = [
  { name: "day", title: "24 hours", step: "hour", steps: 24 },
  { name: "week", title: "7 days", step: "day", steps: 7 },
  { name: "month", title: "30 days", step: "day", steps: 30 },
  { name: "quarter", title: "13 weeks", step: "week", steps: 13 },
  { name: "year", title: "12 months", step: "month", steps: 12 },
];

/** The start of the oldest step of a period, in the reader's own zone. */
export function periodStart({ step, steps }: Period, now: number): number {
  const date = new Date(now);
  if (step === "hour") date.setMinutes(0, 0, 0);
  else date.setHours(0, 0, 0, 0);
  const back = steps - 1;
  if (step === "hour") date.setHours(date.getHours() - back);
  else if (step === "day") date.setDate(date.getDate() - back);
  else if (step === "week") date.setDate(date.getDate() - ((date.getDay() + 6) % 7) - back * 7);
  else date.setMonth(date.getMonth() - back, 1);
  return date.getTime();
}

/** The starts of all steps of a period, also of those without a turn. */
export function periodSteps(period: Period, now: number): number[] {
  const starts: number[] = [];
  const date = new Date(periodStart(period, now));
  while (date.getTime() <= now) {
    starts.push(date.getTime());
    if (period.step === "hour") date.setTime(date.getTime() + 3_600_000);
    else if (period.step === "month") date.setMonth(date.getMonth() + 1);
    else date.setDate(date.getDate() + (period.step === "week" ? 7 : 1));
  }
  return starts;
}

export type KeySeries = { key: string; turns: number; spent: Spent; unpriced: number; values: number[] };

/** More keys than this are one series, so that no two colours look alike. */
const maxKeys = 8;
export const otherKeys = "others";

/** One series for each key, the largest sum first. */
export function seriesOf(points: readonly UsagePoint[], starts: readonly number[], measure: Measure): KeySeries[] {
  const keys = new Map<string, KeySeries>();
  for (const point of points) {
    const index = starts.findLastIndex((start) => start <= point.at);
    if (index < 0) continue;
    const known = keys.get(point.key) ?? { key: point.key, turns: 0, spent: zeroSpent, unpriced: 0, values: starts.map(() => 0) };
    known.turns += point.turns;
    known.unpriced += point.unpriced;
    known.spent = addSpent(known.spent, { usage: point.usage, ...costOf(point.costUsd, point.costIsPartial === true) });
    known.values[index]! += measure === "cost" ? point.costUsd : totalInput(point.usage) + point.usage.output;
    keys.set(point.key, known);
  }
  const sorted = [...keys.values()].toSorted((a, b) => sumOf(b) - sumOf(a) || b.turns - a.turns);
  if (sorted.length <= maxKeys) return sorted;
  return [...sorted.slice(0, maxKeys - 1), sorted.slice(maxKeys - 1).reduce(joined)];
}

function joined(a: KeySeries, b: KeySeries): KeySeries {
  return {
    key: otherKeys,
    turns: a.turns + b.turns,
    spent: addSpent(a.spent, b.spent),
    unpriced: a.unpriced + b.unpriced,
    values: a.values.map((value, index) => value + b.values[index]!),
  };
}

function sumOf({ values }: KeySeries): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Each series with the ones below it added: the last one first, so that later bars cover earlier ones. */
export function stacked(series: readonly KeySeries[]): number[][] {
  let below: number[] | null = null;
  const layers = series.map(({ values }) => (below = values.map((value, index) => value + (below?.[index] ?? 0))));
  return layers.toReversed();
}
