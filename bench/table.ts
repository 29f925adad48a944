// Renders the measured values of all contenders as a table of medians, with ratios to the best peer and goals.

/** A ratio to the best peer, or a value of skein itself. */
type Goal = { ratio: number } | { value: number };

type Row = { what: string; unit: string; digits: number; goal?: Goal };

/** In the order of the table. A row without values is left out. */
const rows = {
  firstRequest: { what: "start → first request", unit: "ms", digits: 0, goal: { ratio: 0.1 } },
  coldFirstRequest: { what: "cold home → first request", unit: "ms", digits: 0, goal: { ratio: 0.15 } },
  calls20: { what: "20 calls, whole run", unit: "ms", digits: 0, goal: { ratio: 0.22 } },
  coldCalls20: { what: "cold home, 20 calls, whole run", unit: "ms", digits: 0, goal: { ratio: 0.22 } },
  calls100: { what: "100 calls, whole run", unit: "ms", digits: 0 },
  overhead: { what: "overhead per call", unit: "ms", digits: 1, goal: { ratio: 0.5 } },
  gap: { what: "gap per call, 100 calls", unit: "ms", digits: 1, goal: { ratio: 0.25 } },
  rss20: { what: "20 calls, peak RSS of the tree", unit: "MB", digits: 0, goal: { ratio: 0.48 } },
  pss20: { what: "20 calls, peak PSS of the tree", unit: "MB", digits: 0, goal: { ratio: 0.33 } },
  cpu20: { what: "20 calls, CPU of the tree", unit: "ms", digits: 0 },
  cpu100: { what: "100 calls, CPU of the tree", unit: "ms", digits: 0 },
  tokens: { what: "first request", unit: "tokens", digits: 0, goal: { ratio: 0.5 } },
  growthBytes: { what: "growth of the request per call", unit: "bytes", digits: 0, goal: { ratio: 1 } },
  big: { what: "5 MB of output, whole run", unit: "ms", digits: 0 },
  rssBig: { what: "5 MB of output, peak RSS of the tree", unit: "MB", digits: 0 },
  pssBig: { what: "5 MB of output, peak PSS of the tree", unit: "MB", digits: 0 },
  calls400: { what: "400 calls, whole run", unit: "s", digits: 1 },
  calls1000: { what: "1,000 calls, whole run", unit: "s", digits: 1, goal: { ratio: 0.2 } },
  calls2000: { what: "2,000 calls, whole run", unit: "s", digits: 1 },
  gap400: { what: "gap at call 400", unit: "ms", digits: 1 },
  gap1000: { what: "gap at call 1,000", unit: "ms", digits: 1 },
  gap2000: { what: "gap at call 2,000", unit: "ms", digits: 1 },
  gapGrowth: { what: "gap at call 2,000 / at call 20", unit: "ratio", digits: 2, goal: { value: 1.2 } },
  rss1000: { what: "1,000 calls, peak RSS of the tree", unit: "MB", digits: 0, goal: { ratio: 0.2 } },
  pss1000: { what: "1,000 calls, peak PSS of the tree", unit: "MB", digits: 0 },
  long4000: { what: "continue 4,000 nodes → first request", unit: "ms", digits: 0 },
  long10000: { what: "continue 10,000 nodes → first request", unit: "ms", digits: 0 },
  longCompacted: { what: "continue 10,000 compacted nodes → first request", unit: "ms", digits: 0, goal: { value: 40 } },
  parallel20: { what: "20 runs at once without calls, all ended", unit: "s", digits: 1 },
  parallel100: { what: "100 runs at once without calls, all ended", unit: "s", digits: 1 },
  parallel200: { what: "200 runs at once without calls, all ended", unit: "s", digits: 1 },
  failed200: { what: "200 runs at once, failed", unit: "runs", digits: 0, goal: { value: 0 } },
} satisfies Record<string, Row>;

export type RowName = keyof typeof rows;

/** Contender → row → values. */
export type Results = Map<string, Map<RowName, number[]>>;

export function addValue(results: Results, name: string, row: RowName, value: number): void {
  const values = results.get(name) ?? new Map<RowName, number[]>();
  results.set(name, values.set(row, [...(values.get(row) ?? []), value]));
}

export const ours = "skein";
/** An earlier build of skein, measured in the same run. It is no peer. */
export const before = "before";
/** A bare loop on skein's runtime. It is no peer either. */
export const floor = "floor";

/** Markdown: medians, the ratio of skein to the best peer, the goal; then the range of every figure with more than one run. */
export function renderTables(results: Results): string {
  const names = [...results.keys()];
  const peers = names.filter((name) => ![ours, before, floor].includes(name));
  const measured = (Object.entries(rows) as [RowName, Row][]).filter(([row]) => names.some((name) => results.get(name)!.has(row)));
  const valuesOf = (name: string, row: RowName) => results.get(name)!.get(row) ?? [];
  const beforeHead = names.includes(before) ? ["ratio to before"] : [];
  const head = ["", ...names, ...(names.includes(ours) ? ["ratio to the best peer", "goal", "met", ...beforeHead] : [])];
  const medians = measured.map(([key, row]) => {
    const values = new Map(names.map((name) => [name, median(valuesOf(name, key))]));
    const cells = names.map((name) => format(values.get(name)!, row.digits));
    return [`${row.what}, ${row.unit}`, ...cells, ...(values.has(ours) ? ratioCells(row, values, peers) : [])];
  });
  const spreads = measured
    .filter(([key]) => names.some((name) => valuesOf(name, key).length > 1))
    .map(([key, row]) => [`${row.what}, ${row.unit}`, ...names.map((name) => spread(valuesOf(name, key), row.digits))]);
  const ranges = spreads.length === 0 ? "" : `\nLowest and highest of the same runs:\n\n${markdown([["", ...names], ...spreads])}\n`;
  return `${markdown([head, ...medians])}\n${ranges}`;
}

/** NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[middle]!;
  return (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function ratioCells({ goal, digits }: Row, values: Map<string, number>, peers: string[]): string[] {
  const skein = values.get(ours)!;
  const peerValues = peers.map((name) => values.get(name)!).filter((value) => !Number.isNaN(value));
  const ratio = peerValues.length === 0 ? Number.NaN : skein / Math.min(...peerValues);
  const earlier = values.get(before);
  const beforeCells = earlier === undefined ? [] : [format(skein / earlier, 2)];
  return [format(ratio, 2), ...goalCells(goal, { skein, ratio, digits }), ...beforeCells];
}

function goalCells(goal: Goal | undefined, { skein, ratio, digits }: { skein: number; ratio: number; digits: number }): string[] {
  if (goal === undefined) return ["", ""];
  const [limit, value, decimals] = "ratio" in goal ? [goal.ratio, ratio, 2] : [goal.value, skein, digits];
  return [`≤ ${limit.toFixed(decimals)}`, Number.isNaN(value) ? missing : rounded(value, decimals) <= limit ? "yes" : "no"];
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

const missing = "–";

function spread(values: number[], digits: number): string {
  return values.length === 0 ? missing : `${format(Math.min(...values), digits)} – ${format(Math.max(...values), digits)}`;
}

function format(value: number, digits: number): string {
  if (Number.isNaN(value)) return missing;
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
