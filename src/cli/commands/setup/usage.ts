// skein usage: sums tokens and cost by day, agent, model or project.
import { groupDigits } from "../../../kit/text/cut-text.ts";
import type { UsageKey, UsageEntry } from "../../../protocol/api/api.ts";
import { addUsage, zeroUsage } from "../../../protocol/tree/usage.ts";
import { costText } from "../../../protocol/tree/usage-text.ts";
import { ago } from "../../../kit/text/duration.ts";
import { clockTime } from "../../../protocol/limits/clock-time.ts";
import type { KnownLimit } from "../../../protocol/limits/limit-window.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

const keys = ["day", "agent", "model", "project"] as const satisfies readonly UsageKey[];

export const usage = reportCommand({
  name: "usage",
  summary: "show tokens and money spent",
  usage: "[--by day|agent|model|project] [--all-projects] [--limits] [--json]",
  flags: [
    { name: "by", value: "what", choices: keys, summary: "the unit of one line (default day)" },
    { name: "all-projects", summary: "include all projects, not only this one" },
    { name: "limits", summary: "show what is known of vendors' limits instead: how much is used, and when each ends" },
  ],
  notes: `A + after an amount means that the price of some turns is unknown.
Limits come from the last answers of each vendor; KEY is a part of the key's hash, never the key.`,
  async report(args, ctx) {
    if (args.flags["limits"] === true) return reportLimits(await (await ctx.api()).limits.list());
    const by = (args.flags["by"] ?? "day") as UsageKey;
    const everywhere = args.flags["all-projects"] === true || by === "project";
    const api = await ctx.api();
    const entries = await api.usage.report({ by, project: everywhere ? null : ctx.project });
    return {
      json: entries,
      text(style) {
        if (entries.length === 0) return `nothing was spent ${everywhere ? "yet" : "in this project yet (--all-projects shows all)"}\n`;
        const rows = entries.map(cells);
        if (entries.length > 1) rows.push(cells(sumEntries(entries)).map(style.bold));
        const counts = ["TURNS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST"].map((title) => ({
          title,
          align: "right" as const,
        }));
        return tableText(rows, { columns: [{ title: by.toUpperCase() }, ...counts], paintTitle: style.dim });
      },
    };
  },
});

function reportLimits(limits: readonly KnownLimit[]): { json: unknown; text: (style: Style) => string } {
  return {
    json: limits,
    text(style) {
      if (limits.length === 0) return "no limit is known: vendors report limits with their answers\n";
      const now = Date.now();
      const rows = limits.flatMap(({ source, credential, windows, seenAt }) =>
        windows.map((window) => [
          stripControls(source),
          credential ?? "",
          stripControls(window.name),
          window.isUsedUp ? style.red("used up") : window.used === null ? "" : `${Math.round(window.used * 100)} %`,
          window.limit === null ? "" : `${window.remaining === null ? "?" : groupDigits(window.remaining)} of ${groupDigits(window.limit)}`,
          window.resetAt === null ? "" : clockTime(window.resetAt, now),
          ago(now - seenAt),
        ]),
      );
      const columns = ["SOURCE", "KEY", "WINDOW", "USED", "LEFT", "ENDS", "SEEN"].map((title) => ({ title }));
      return tableText(rows, { columns, paintTitle: style.dim });
    },
  };
}

function sumEntries(entries: readonly UsageEntry[]): UsageEntry {
  return entries.reduce(
    (sum, entry) => ({
      ...sum,
      turns: sum.turns + entry.turns,
      usage: addUsage(sum.usage, entry.usage),
      costUsd: sum.costUsd + entry.costUsd,
      costIsPartial: sum.costIsPartial ?? entry.costIsPartial,
      unpriced: sum.unpriced + entry.unpriced,
    }),
    { key: "total", turns: 0, usage: zeroUsage, costUsd: 0, unpriced: 0 } as UsageEntry,
  );
}

function cells({ key, turns, usage, ...cost }: UsageEntry): string[] {
  const counts = [turns, usage.input, usage.output, usage.cacheRead, usage.cacheWrite].map(groupDigits);
  return [stripControls(key), ...counts, costText(cost, { digits: cost.costUsd > 0 && cost.costUsd < 1 ? 4 : 2 })];
}
