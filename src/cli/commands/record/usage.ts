// skein usage: sums tokens and cost by day, agent, model or project; draws them over time; writes them as CSV.
import { groupDigits } from "../../../kit/text/cut-text.ts";
import type { Api, UsageKey, UsageEntry } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { costText } from "../../../protocol/tree/usage-text.ts";
import { ago } from "../../../kit/text/duration.ts";
import { clockTime } from "../../../protocol/limits/clock-time.ts";
import type { KnownLimit } from "../../../protocol/limits/limit-window.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { showsUnicode, stripControls, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { reportCommand, type Report } from "../report-command.ts";
import { usageCsv } from "./usage-csv.ts";
import { measures, usagePlot, type Measure } from "./usage-plot.ts";
import { loadPlotSeries, loadSeries, sumEntries, sumPoints, type SeriesWindow } from "./usage-series.ts";
import { parseSince } from "./usage-since.ts";

const keys = ["day", "agent", "model", "project"] as const satisfies readonly UsageKey[];

export const usage = reportCommand({
  name: "usage",
  summary: "show tokens and money spent, as a table, a plot or CSV",
  usage: "[--by day|agent|model|project] [--since 7d] [--plot | --csv] [--all-projects] [--limits] [--json]",
  flags: [
    { name: "by", value: "what", choices: keys, summary: "the unit of one line (default day)" },
    { name: "since", value: "time", summary: "only turns since then: 12h, 7d, 2026-11-01" },
    { name: "plot", summary: "draw bars, and lines over time for each agent, model or project" },
    { name: "measure", value: "what", choices: measures, summary: "what --plot draws (default cost, or tokens if no price is known)" },
    { name: "csv", summary: "print a row for each day and agent, model or project" },
    { name: "all-projects", summary: "include all projects, not only this one" },
    { name: "limits", summary: "show what is known of vendors' limits instead: how much is used, and when each ends" },
  ],
  notes: `A + after an amount means that the price of some turns is unknown. A turn counts
on the day on which it started, in this machine's time zone.
With more than 31 days a plot has a bar for each week, then for each month.
Limits come from the last answers of each vendor; KEY is a part of the key's hash, never the key.

  skein usage --plot --since 7d
  skein usage --plot --by model --measure tokens --all-projects
  skein usage --csv --by agent > usage.csv`,
  async report(args, ctx) {
    requireOneForm(args);
    if (args.flags["limits"] === true) return reportLimits(await (await ctx.api()).limits.list());
    const by = (args.flags["by"] ?? "day") as UsageKey;
    const now = Date.now();
    const since = args.flags["since"] === undefined ? null : parseSince(String(args.flags["since"]), now);
    const everywhere = args.flags["all-projects"] === true || by === "project";
    const window = { by, since, project: everywhere ? null : ctx.project };
    const api = await ctx.api();
    if (args.flags["plot"] === true) return plotReport(api, window, { args, ctx, now });
    if (args.flags["csv"] === true) {
      const { points } = await loadSeries(api, window, "day");
      return { json: points, text: usageCsv(points, by) };
    }
    return tableReport(await entriesOf(api, window), window);
  },
});

/** Flags that exclude each other. */
function requireOneForm({ flags }: Args): void {
  const given = ["limits", "plot", "csv"].filter((name) => flags[name] === true);
  if (given.length > 1) throw new Fault("usage", `--${given[0]} and --${given[1]} can't be combined`);
  if (flags["csv"] === true && flags["json"] === true) throw new Fault("usage", "--csv and --json can't be combined");
  if (flags["measure"] !== undefined && flags["plot"] !== true) throw new Fault("usage", "--measure needs --plot");
  if (flags["since"] !== undefined && flags["limits"] === true) throw new Fault("usage", "--since can't be combined with --limits");
}

async function entriesOf(api: Api, { by, since, project }: SeriesWindow): Promise<UsageEntry[]> {
  if (since === null) return api.usage.report({ by, project });
  return sumPoints((await loadSeries(api, { by, since, project }, "day")).points, by);
}

async function plotReport(
  api: Api,
  window: SeriesWindow,
  { args, ctx, now }: { args: Args; ctx: CommandContext; now: number },
): Promise<Report> {
  const series = await loadPlotSeries(api, window, now);
  const measure = (args.flags["measure"] ?? null) as Measure | null;
  return {
    json: series.points,
    text: (style) =>
      series.points.length === 0
        ? nothingText(window)
        : usagePlot(series, { by: window.by, measure, now, width: ctx.out.columns, isUnicode: showsUnicode(ctx.env), style }),
  };
}

function nothingText({ project, since }: SeriesWindow): string {
  const time = since === null ? " yet" : " in that time";
  return `nothing was spent${project === null ? time : ` in this project${time} (--all-projects shows all)`}\n`;
}

function tableReport(entries: readonly UsageEntry[], window: SeriesWindow): Report {
  return {
    json: entries,
    text(style) {
      if (entries.length === 0) return nothingText(window);
      const rows = entries.map(cells);
      if (entries.length > 1) rows.push(cells(sumEntries(entries, "total")).map(style.bold));
      const counts = ["TURNS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST"].map((title) => ({
        title,
        align: "right" as const,
      }));
      return tableText(rows, { columns: [{ title: window.by.toUpperCase() }, ...counts], paintTitle: style.dim });
    },
  };
}

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

function cells({ key, turns, usage, ...cost }: UsageEntry): string[] {
  const counts = [turns, usage.input, usage.output, usage.cacheRead, usage.cacheWrite].map(groupDigits);
  return [stripControls(key), ...counts, costText(cost, { digits: cost.costUsd > 0 && cost.costUsd < 1 ? 4 : 2 })];
}
