// Prepares `usage.series` for tables, plots and CSV: chooses the step, sums points, and lists the steps without usage.
import type { Api, UsageEntry, UsageKey } from "../../../protocol/api/api.ts";
import type { UsagePoint, UsageStep } from "../../../protocol/schema/views/usage-views.ts";
import { addUsage, zeroUsage } from "../../../protocol/tree/usage.ts";

export type SeriesWindow = { by: UsageKey; since: number | null; project: string | null };

export type Series = { step: UsageStep; points: UsagePoint[] };

/** More bars than this are too many for a screen, so a longer time has weeks or months. */
const maxSteps = 31;
const dayMs = 86_400_000;

export async function loadSeries(api: Api, window: SeriesWindow, step: UsageStep): Promise<Series> {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const { by, since, project } = window;
  const points = await api.usage.series({ by: by === "day" ? "agent" : by, step, since, zone, project });
  return { step, points };
}

/** Days, or weeks or months if there were too many days. */
export async function loadPlotSeries(api: Api, window: SeriesWindow, now: number): Promise<Series> {
  const days = await loadSeries(api, window, "day");
  const first = days.points[0]?.at ?? now;
  if (now - first < maxSteps * dayMs) return days;
  return loadSeries(api, window, now - first < maxSteps * 7 * dayMs ? "week" : "month");
}

/** Every step from the first point to now, also those without usage. */
export function stepsUntil({ step, points }: Series, now: number): number[] {
  const steps: number[] = [];
  for (let at = points[0]?.at; at !== undefined && at <= now; at = nextStep(at, step)) steps.push(at);
  return steps;
}

function nextStep(at: number, step: UsageStep): number {
  const date = new Date(at);
  if (step === "hour") return at + 3_600_000;
  if (step === "month") return date.setMonth(date.getMonth() + 1);
  return date.setDate(date.getDate() + (step === "week" ? 7 : 1));
}

/** The local date at which a step begins. */
export function dateText(at: number): string {
  const date = new Date(at);
  const twoDigits = (count: number) => String(count).padStart(2, "0");
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
}

export function sumEntries(entries: readonly UsageEntry[], key: string): UsageEntry {
  return entries.reduce(
    (sum, entry) => ({
      ...sum,
      turns: sum.turns + entry.turns,
      usage: addUsage(sum.usage, entry.usage),
      costUsd: sum.costUsd + entry.costUsd,
      ...(sum.costIsPartial === true || entry.costIsPartial === true ? { costIsPartial: true as const } : {}),
      unpriced: sum.unpriced + entry.unpriced,
    }),
    { key, turns: 0, usage: zeroUsage, costUsd: 0, unpriced: 0 } as UsageEntry,
  );
}

/** One sum for each day, the latest first, or for each key, the most expensive first. */
export function sumPoints(points: readonly UsagePoint[], by: UsageKey): UsageEntry[] {
  const groups = Map.groupBy(points, ({ at, key }) => (by === "day" ? dateText(at) : key));
  const sums = [...groups].map(([key, group]) => sumEntries(group, key));
  if (by === "day") return sums.toSorted((a, b) => (a.key < b.key ? 1 : -1));
  return sums.toSorted((a, b) => b.costUsd - a.costUsd || b.turns - a.turns || (a.key < b.key ? -1 : 1));
}
