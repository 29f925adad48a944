// Renders the figures of many runs as a table of medians, with ratios to the best peer and goals.
import type { Figures } from "./measure.ts";

/** One round of one contender. */
export type Round = { calls20: Figures; calls100: Figures; big: Figures; memory20: Figures; memoryBig: Figures; cold: Figures };

type Row = {
  what: string;
  unit: string;
  digits: number;
  value: (round: Round) => number;
  /** Maximum ratio to the best peer; null if there is no goal. */
  goal: number | null;
};

const megabyte = 1_000_000;

const rows: Row[] = [
  { what: "start → first request", unit: "ms", digits: 0, value: (round) => round.calls20.firstRequestMs, goal: 0.2 },
  { what: "cold home → first request", unit: "ms", digits: 0, value: (round) => round.cold.firstRequestMs, goal: 0.15 },
  { what: "20 calls, whole run", unit: "ms", digits: 0, value: (round) => round.calls20.wholeMs, goal: 0.2 },
  { what: "100 calls, whole run", unit: "ms", digits: 0, value: (round) => round.calls100.wholeMs, goal: null },
  { what: "overhead per call", unit: "ms", digits: 1, value: (round) => (round.calls100.wholeMs - round.calls20.wholeMs) / 80, goal: 0.5 },
  {
    what: "20 calls, peak RSS of the tree",
    unit: "MB",
    digits: 0,
    value: (round) => (round.memory20.peak?.rssBytes ?? 0) / megabyte,
    goal: 0.5,
  },
  {
    what: "20 calls, peak PSS of the tree",
    unit: "MB",
    digits: 0,
    value: (round) => (round.memory20.peak?.pssBytes ?? 0) / megabyte,
    goal: null,
  },
  { what: "20 calls, CPU of the tree", unit: "ms", digits: 0, value: (round) => round.calls20.cpuMs, goal: null },
  { what: "100 calls, CPU of the tree", unit: "ms", digits: 0, value: (round) => round.calls100.cpuMs, goal: null },
  { what: "first request", unit: "tokens", digits: 0, value: (round) => round.calls20.tokens.total, goal: 0.6 },
  { what: "growth of the request per call", unit: "bytes", digits: 0, value: (round) => round.calls100.growthBytes, goal: 1 },
  { what: "5 MB of output, whole run", unit: "ms", digits: 0, value: (round) => round.big.wholeMs, goal: null },
  {
    what: "5 MB of output, peak RSS of the tree",
    unit: "MB",
    digits: 0,
    value: (round) => (round.memoryBig.peak?.rssBytes ?? 0) / megabyte,
    goal: null,
  },
  {
    what: "5 MB of output, peak PSS of the tree",
    unit: "MB",
    digits: 0,
    value: (round) => (round.memoryBig.peak?.pssBytes ?? 0) / megabyte,
    goal: null,
  },
];

export const ours = "skein";
/** An earlier build of skein, measured in the same run. It is no peer. */
export const before = "before";

/** Markdown: medians, the ratio of skein to the best peer, the goal; then the range of every figure. */
export function renderTables(results: Map<string, Round[]>): string {
  const names = [...results.keys()];
  const peers = names.filter((name) => name !== ours && name !== before);
  const beforeHead = results.has(before) ? ["ratio to before"] : [];
  const head = ["", ...names, ...(results.has(ours) ? ["ratio to the best peer", "goal", "met", ...beforeHead] : [])];
  const medians = rows.map((row) => {
    const values = new Map(names.map((name) => [name, median((results.get(name) ?? []).map(row.value))]));
    const cells = names.map((name) => format(values.get(name)!, row.digits));
    return [`${row.what}, ${row.unit}`, ...cells, ...ratioCells(row, values, peers)];
  });
  const spreads = rows.map((row) => [
    `${row.what}, ${row.unit}`,
    ...names.map((name) => spread((results.get(name) ?? []).map(row.value), row.digits)),
  ]);
  return `${markdown([head, ...medians])}\n\nLowest and highest of the same runs:\n\n${markdown([["", ...names], ...spreads])}\n`;
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[middle]!;
  return (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function ratioCells(row: Row, values: Map<string, number>, peers: string[]): string[] {
  const skein = values.get(ours);
  if (skein === undefined) return [];
  const ratio = skein / Math.min(...peers.map((name) => values.get(name)!));
  const goal = row.goal === null ? "" : `≤ ${row.goal.toFixed(2)}`;
  const earlier = values.get(before);
  const beforeCells = earlier === undefined ? [] : [(skein / earlier).toFixed(2)];
  return [ratio.toFixed(2), goal, row.goal === null ? "" : ratio <= row.goal ? "yes" : "no", ...beforeCells];
}

function spread(values: number[], digits: number): string {
  return `${format(Math.min(...values), digits)} – ${format(Math.max(...values), digits)}`;
}

function format(value: number, digits: number): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function markdown(lines: string[][]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const texts = lines.map(
    (line) => `| ${line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join(" | ")} |`,
  );
  const rule = `|${widths.map((width, column) => (column === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [texts[0]!, rule, ...texts.slice(1)].join("\n");
}
