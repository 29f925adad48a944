// Usage over time: folds the sums of quarter hours into the hours, days, weeks or months of a time zone. Pure.
import type { UsagePoint, UsageStep } from "../../protocol/schema/views/usage-views.ts";
import { addUsage, quarterHourMs } from "../../protocol/tree/usage.ts";

/** `zone` is an IANA name; null is the zone of this machine. Throws a RangeError for an unknown zone. */
export function foldUsage(quarters: readonly UsagePoint[], { step, zone }: { step: UsageStep; zone: string | null }): UsagePoint[] {
  const startOf = stepStart(step, zone);
  const points = new Map<string, UsagePoint>();
  for (const quarter of quarters) {
    const at = startOf(quarter.at);
    const id = `${at} ${quarter.key}`;
    const known = points.get(id);
    points.set(id, known === undefined ? { ...quarter, at } : addPoint(known, quarter));
  }
  return [...points.values()].toSorted((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1));
}

function addPoint(a: UsagePoint, b: UsagePoint): UsagePoint {
  return {
    ...a,
    turns: a.turns + b.turns,
    usage: addUsage(a.usage, b.usage),
    costUsd: a.costUsd + b.costUsd,
    ...(a.costIsPartial === true || b.costIsPartial === true ? { costIsPartial: true as const } : {}),
    unpriced: a.unpriced + b.unpriced,
  };
}

/** The start of the step that a time is in. Days of 23 or 25 hours keep their own start. */
export function stepStart(step: UsageStep, zone: string | null): (at: number) => number {
  const format = new Intl.DateTimeFormat("en-GB", {
    ...(zone === null ? {} : { timeZone: zone }),
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  const localClock = (at: number) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    return { year: parts["year"]!, month: parts["month"]!, day: parts["day"]!, hour: parts["hour"]!, minute: parts["minute"]! };
  };
  const localMs = (at: number) => {
    const { year, month, day, hour, minute } = localClock(at);
    return Date.UTC(year, month - 1, day, hour, minute);
  };
  const starts = new Map<number, number>();
  return (at) => {
    const quarter = Math.floor(at / quarterHourMs) * quarterHourMs;
    const cached = starts.get(quarter);
    if (cached !== undefined) return cached;
    const start = findStart(quarter, step, localMs);
    starts.set(quarter, start);
    return start;
  };
}

function findStart(at: number, step: UsageStep, localMs: (at: number) => number): number {
  if (step === "hour") return at - (new Date(localMs(at)).getUTCMinutes() % 60) * 60_000;
  const local = new Date(localMs(at));
  const daysBack = step === "day" ? 0 : step === "week" ? (local.getUTCDay() + 6) % 7 : local.getUTCDate() - 1;
  const wanted = Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate() - daysBack);
  // The zone's offset may have changed since then, so the guess is corrected by the difference that it shows.
  let start = at - (localMs(at) - wanted);
  for (let attempt = 0; attempt < 3 && localMs(start) !== wanted; attempt += 1) start -= localMs(start) - wanted;
  return start;
}
