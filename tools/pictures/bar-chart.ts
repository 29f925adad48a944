// Draws the measured figures of bench/RESULTS.md and bench/TUI.md as bars. It reads the committed reports, so that no
// figure is written by hand.
import { readFileSync } from "node:fs";
import { escaped } from "../../src/cli/export/terminal-svg.ts";

type Bar = { name: string; value: number };
type Group = { title: string; unit: string; bars: Bar[] };

const bench = `${import.meta.dir}/../../bench`;

export function barChart(): string {
  const results = readFileSync(`${bench}/RESULTS.md`, "utf8");
  const tui = readFileSync(`${bench}/TUI.md`, "utf8");
  const versions = new Map(
    [...results.matchAll(/\b(pi|codex|skein) (\d+(?:\.\d+)+)/g)].map(([, name, version]) => [name!, `${name} ${version}`]),
  );
  const runs = tableOf(results, (name) => versions.get(name) ?? name);
  const screens = tableOf(tui, (name) => name);
  const groups: Group[] = [
    { title: "start to first request", unit: "ms", bars: barsOf(runs, "start → first request, ms") },
    { title: "first request", unit: "tokens", bars: barsOf(runs, "first request, tokens") },
    { title: "20 tool calls, peak memory", unit: "MB", bars: barsOf(runs, "20 calls, peak RSS of the tree, MB") },
    { title: "screen: open 10,000 blocks", unit: "ms", bars: barsOf(screens, "start → end of the conversation shown, ms") },
    { title: "screen: memory with 10,000 blocks", unit: "MB", bars: barsOf(screens, "memory at that time, MB") },
  ];
  const dates = [results, tui].map((text) => /\d{4}-\d\d-\d\d/.exec(text)?.[0] ?? "");
  return chartSvg(
    groups,
    `medians, smaller is better · measured ${[...new Set(dates)].join(" and ")} on 2 cores · bench/RESULTS.md, bench/TUI.md`,
  );
}

type Table = { names: string[]; rows: Map<string, number[]> };

/** The first table of a report that has a column for skein. Columns without a program are dropped. */
function tableOf(report: string, nameOf: (name: string) => string): Table {
  const lines = report.split("\n");
  const head = lines.findIndex((line) => line.startsWith("|") && line.includes("skein"));
  const cells = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  const columns = cells(lines[head]!)
    .map((name, index) => ({ name, index }))
    .filter(({ name }) => /^(pi|codex|skein|opencode)\b/.test(name));
  const rows = new Map<string, number[]>();
  for (const line of lines.slice(head + 2)) {
    if (!line.startsWith("|")) break;
    const row = cells(line);
    rows.set(
      row[0]!,
      columns.map(({ index }) => Number(row[index]!.replaceAll(",", ""))),
    );
  }
  return { names: columns.map(({ name }) => nameOf(name)), rows };
}

/** skein first, then the others from small to large. */
function barsOf({ names, rows }: Table, title: string): Bar[] {
  const values = rows.get(title);
  if (values === undefined || values.some(Number.isNaN)) throw new Error(`there are no figures for "${title}"`);
  const bars = names.map((name, index) => ({ name, value: values[index]! }));
  const rank = ({ name, value }: Bar) => (name.startsWith("skein") ? -1 : value);
  return bars.toSorted((a, b) => rank(a) - rank(b));
}

const width = 820;
const labelWidth = 150;
const barWidth = 520;
const rowHeight = 20;

function chartSvg(groups: Group[], note: string): string {
  const pieces: string[] = [];
  let top = 20;
  for (const { title, unit, bars } of groups) {
    pieces.push(`<text class="head" x="20" y="${top + 14}">${escaped(`${title}, ${unit}`)}</text>`);
    top += 24;
    const largest = Math.max(...bars.map(({ value }) => value));
    for (const { name, value } of bars) {
      const length = Math.max(3, Math.round((value / largest) * barWidth));
      const isOurs = name.startsWith("skein");
      const label = `${value.toLocaleString("en-US")} ${unit}`;
      pieces.push(
        `<text x="${labelWidth - 10}" y="${top + 14}" text-anchor="end"${isOurs ? ' class="ours"' : ""}>${escaped(name)}</text>`,
        `<rect class="${isOurs ? "our" : "other"}" x="${labelWidth}" y="${top + 3}" width="${length}" height="${rowHeight - 6}" rx="2"/>`,
        `<text x="${labelWidth + length + 8}" y="${top + 14}"${isOurs ? ' class="ours"' : ""}>${escaped(label)}</text>`,
      );
      top += rowHeight;
    }
    top += 12;
  }
  pieces.push(`<text class="note" x="20" y="${top + 12}">${escaped(note)}</text>`);
  const height = top + 28;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="skein measured against pi, codex and opencode">`,
    `<style>${chartStyle}</style>`,
    `<rect class="frame" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...pieces,
    "</svg>",
    "",
  ].join("\n");
}

const chartStyle = `
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #24292f } .head { font-weight: 600 } .ours { font-weight: 700 }
.note { fill: #6e7781; font-size: 11.5px } .frame { fill: #ffffff; stroke: #d0d7de } .our { fill: #1a7f37 } .other { fill: #afb8c1 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note { fill: #8b949e } .frame { fill: #0d1117; stroke: #30363d } .our { fill: #3fb950 } .other { fill: #484f58 } }
`;
