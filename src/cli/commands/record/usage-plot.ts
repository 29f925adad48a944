// Draws usage as bars and lines of block characters. They need no library: each is one division per bar, and they read the
// same in a terminal, in a pipe and in a mail. A terminal without Unicode gets ASCII.
import { groupDigits, pluralize } from "../../../kit/text/cut-text.ts";
import type { UsageEntry, UsageKey } from "../../../protocol/api/api.ts";
import type { UsagePoint, UsageStep } from "../../../protocol/schema/views/usage-views.ts";
import { totalInput } from "../../../protocol/tree/usage-text.ts";
import { costText } from "../../../protocol/tree/usage-text.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { cutToWidth } from "../../terminal/table.ts";
import { dateText, stepsUntil, sumEntries, sumPoints, type Series } from "./usage-series.ts";

export const measures = ["cost", "tokens", "turns"] as const;
export type Measure = (typeof measures)[number];

export type PlotOptions = {
  by: UsageKey;
  /** Null: cost, or tokens if no price is known. */
  measure: Measure | null;
  now: number;
  width: number;
  isUnicode: boolean;
  style: Style;
};

/** More agents, models or projects than this are summed in one bar. */
const maxKeys = 12;
const maxLabelWidth = 28;
const otherKey = "others";

export function usagePlot(series: Series, options: PlotOptions): string {
  const measure = options.measure ?? (series.points.some(({ costUsd }) => costUsd > 0) ? "cost" : "tokens");
  const plot = { ...options, measure };
  const steps = stepsUntil(series, options.now);
  const byStep = Map.groupBy(series.points, ({ at }) => at);
  const sums = steps.map((at) => sumEntries(byStep.get(at) ?? [], stepText(at, series.step)));
  const title = (text: string) => `${options.style.bold(text)}\n`;
  const range = `${dateText(steps[0]!)} to ${dateText(options.now)}`;
  if (options.by === "day") return title(`${measure} by ${series.step}, ${range}`) + barRows(sums, plot) + totalRow(sums, plot);
  const top = topKeys(series.points, options.by, measure);
  const bars = title(`${measure} by ${options.by}, ${range}`) + barRows(top, plot) + totalRow(top, plot);
  return steps.length < 2 ? bars : `${bars}\n${title(`${measure} by ${series.step}`)}${lineRows({ series, steps, top }, plot)}`;
}

type Plot = PlotOptions & { measure: Measure };

function valueOf({ costUsd, usage, turns }: UsageEntry, measure: Measure): number {
  if (measure === "cost") return costUsd;
  return measure === "turns" ? turns : totalInput(usage) + usage.output;
}

function valueText(entry: UsageEntry, measure: Measure): string {
  if (measure !== "cost") return groupDigits(valueOf(entry, measure));
  return costText(entry, { digits: entry.costUsd > 0 && entry.costUsd < 1 ? 4 : 2 });
}

function topKeys(points: readonly UsagePoint[], by: UsageKey, measure: Measure): UsageEntry[] {
  const sums = sumPoints(points, by).toSorted((a, b) => valueOf(b, measure) - valueOf(a, measure));
  if (sums.length <= maxKeys) return sums;
  return [...sums.slice(0, maxKeys - 1), sumEntries(sums.slice(maxKeys - 1), otherKey)];
}

/** Label, bar, value, and the number of turns where there is room. */
function barRows(entries: readonly UsageEntry[], plot: Plot): string {
  const { measure, style } = plot;
  const values = entries.map((entry) => valueText(entry, measure));
  const turns = entries.map((entry) => (measure === "turns" ? "" : pluralize(entry.turns, "turn")));
  const labelWidth = widest(entries.map(({ key }) => labelText(key)));
  const [valueWidth, turnsWidth] = [widest(values), widest(turns)];
  const barWidth = Math.max(8, plot.width - labelWidth - valueWidth - turnsWidth - 6);
  const largest = Math.max(...entries.map((entry) => valueOf(entry, measure)));
  return entries
    .map((entry, index) => {
      const bar = barText(largest === 0 ? 0 : valueOf(entry, measure) / largest, barWidth, plot.isUnicode);
      const cells = [padEnd(labelText(entry.key), labelWidth), style.green(padEnd(bar, barWidth)), values[index]!.padStart(valueWidth)];
      return `${[...cells, turns[index]!.padStart(turnsWidth)].join("  ").trimEnd()}\n`;
    })
    .join("");
}

function totalRow(entries: readonly UsageEntry[], { measure, style }: Plot): string {
  if (entries.length < 2) return "";
  const total = sumEntries(entries, "total");
  const rest = measure === "turns" ? "" : `, ${pluralize(total.turns, "turn")}`;
  return style.dim(`total ${valueText(total, measure)}${rest}`) + "\n";
}

/** One line for each key over time. All lines have the same scale, and a dot where nothing was used. */
function lineRows({ series, steps, top }: { series: Series; steps: number[]; top: UsageEntry[] }, plot: Plot): string {
  const named = new Set(top.map(({ key }) => key));
  const values = new Map(top.map(({ key }) => [key, new Map<number, number>()]));
  for (const point of series.points) {
    const line = values.get(named.has(point.key) ? point.key : otherKey)!;
    line.set(point.at, (line.get(point.at) ?? 0) + valueOf(point, plot.measure));
  }
  const largest = Math.max(...[...values.values()].flatMap((line) => [...line.values()]));
  const labelWidth = widest(top.map(({ key }) => labelText(key)));
  const columns = Math.max(1, Math.min(3, Math.floor((plot.width - labelWidth - 2) / steps.length)));
  const rows = top.map(({ key }) => {
    const line = values.get(key)!;
    const text = steps.map((at) => levelText(line.get(at) ?? 0, largest, plot.isUnicode).repeat(columns)).join("");
    return `${padEnd(labelText(key), labelWidth)}  ${plot.style.green(text)}\n`;
  });
  const [first, last] = [stepText(steps[0]!, series.step), stepText(steps.at(-1)!, series.step)];
  const gap = steps.length * columns - first.length - last.length;
  const axis = gap < 1 ? first : first + " ".repeat(gap) + last;
  return `${rows.join("")}${" ".repeat(labelWidth + 2)}${plot.style.dim(axis)}\n`;
}

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** `share` of `width` columns. A value above zero is never invisible. */
function barText(share: number, width: number, isUnicode: boolean): string {
  if (share <= 0) return "";
  if (!isUnicode) return "#".repeat(Math.max(1, Math.round(share * width)));
  const units = Math.max(1, Math.round(share * width * 8));
  return "█".repeat(units >> 3) + eighths[units & 7]!;
}

const levels = { unicode: Array.from("·▁▂▃▄▅▆▇█"), ascii: Array.from(".:-=+*%#") };

function levelText(value: number, largest: number, isUnicode: boolean): string {
  const characters = isUnicode ? levels.unicode : levels.ascii;
  return value <= 0 ? characters[0]! : characters[Math.max(1, Math.round((value / largest) * (characters.length - 1)))]!;
}

function stepText(at: number, step: UsageStep): string {
  return step === "month" ? dateText(at).slice(0, 7) : dateText(at);
}

/** A long path keeps its end, a long name its beginning. */
function labelText(key: string): string {
  const label = stripControls(key);
  if (Bun.stringWidth(label) <= maxLabelWidth || !label.startsWith("/")) return cutToWidth(label, maxLabelWidth);
  let end = label.slice(1 - maxLabelWidth);
  while (Bun.stringWidth(end) > maxLabelWidth - 1) end = end.slice(1);
  return `…${end}`;
}

function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - Bun.stringWidth(text)));
}

function widest(texts: readonly string[]): number {
  return Math.max(...texts.map((text) => Bun.stringWidth(text)));
}
