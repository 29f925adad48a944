// Writes usage as CSV by RFC 4180: a row for each day and agent, model or project.
import type { UsageKey } from "../../../protocol/api/api.ts";
import type { UsagePoint } from "../../../protocol/schema/views/usage-views.ts";
import { roundUsd } from "../../../protocol/tree/usage.ts";
import { dateText, sumEntries } from "./usage-series.ts";

export function usageCsv(points: readonly UsagePoint[], by: UsageKey): string {
  const groups = [...Map.groupBy(points, ({ at, key }) => JSON.stringify([at, by === "day" ? "" : key])).values()];
  const rows = groups.map((group) => {
    const { at, key } = group[0]!;
    const { turns, usage, costUsd, costIsPartial = false } = sumEntries(group, key);
    const counts = [turns, usage.input, usage.output, usage.cacheRead, usage.cacheWrite, roundUsd(costUsd)].map(String);
    return [dateText(at), ...(by === "day" ? [] : [key]), ...counts, String(costIsPartial)];
  });
  const titles = ["turns", "input", "output", "cache_read", "cache_write", "cost_usd", "cost_is_partial"];
  return [["date", ...(by === "day" ? [] : [by]), ...titles], ...rows].map((row) => `${row.map(csvField).join(",")}\r\n`).join("");
}

/** A spreadsheet would run a text that begins like a formula; the apostrophe makes it text. */
function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
