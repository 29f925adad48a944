import { expect, test } from "bun:test";
import { foldUsage, stepStart } from "./usage-series.ts";
import { zeroUsage } from "../../protocol/tree/usage.ts";

const at = (text: string) => Date.parse(text);
const point = (time: string, key = "native", costUsd = 1) => ({
  at: at(time),
  key,
  turns: 1,
  usage: { ...zeroUsage, input: 10 },
  costUsd,
  unpriced: 0,
});

test("quarter hours become the days of a zone, for each key", () => {
  const quarters = [
    point("2026-11-17T18:00:00Z"),
    point("2026-11-17T18:15:00Z"),
    { ...point("2026-11-17T18:30:00Z", "codex", 0), costIsPartial: true as const, unpriced: 1 },
    point("2026-11-18T17:45:00Z"),
  ];
  // Midnight in Kathmandu is 18:15 UTC.
  const days = foldUsage(quarters, { step: "day", zone: "Asia/Kathmandu" });
  expect(days.map((day) => [new Date(day.at).toISOString(), day.key, day.turns, day.costUsd, day.usage.input])).toEqual([
    ["2026-11-16T18:15:00.000Z", "native", 1, 1, 10],
    ["2026-11-17T18:15:00.000Z", "codex", 1, 0, 10],
    ["2026-11-17T18:15:00.000Z", "native", 2, 2, 20],
  ]);
  expect(days[1]).toMatchObject({ costIsPartial: true, unpriced: 1 });
  expect(days[2]).not.toHaveProperty("costIsPartial");
});

test("hours, days, weeks and months begin with the clock of the zone, also around a change of the clock", () => {
  const start = (step: "hour" | "day" | "week" | "month", time: string, zone = "Europe/Berlin") =>
    new Date(stepStart(step, zone)(at(time))).toISOString();
  expect(start("hour", "2026-11-18T12:59:59Z", "Asia/Kathmandu")).toBe("2026-11-18T12:15:00.000Z");
  expect(start("day", "2026-10-25T22:30:00Z")).toBe("2026-10-24T22:00:00.000Z");
  expect(start("day", "2026-10-25T23:00:00Z")).toBe("2026-10-25T23:00:00.000Z");
  expect(start("week", "2026-10-25T22:30:00Z")).toBe("2026-10-18T22:00:00.000Z");
  expect(start("month", "2026-03-31T12:00:00Z")).toBe("2026-02-28T23:00:00.000Z");
  expect(start("month", "2026-11-18T12:00:00Z", "America/Los_Angeles")).toBe("2026-11-01T07:00:00.000Z");
});
