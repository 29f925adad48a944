// skein usage with --plot, --since and --csv. Python's csv module reads the CSV, as a spreadsheet would.
import { expect, setSystemTime, test } from "bun:test";
import type { Api, UsageSeriesParams } from "../../../protocol/api/api.ts";
import type { UsagePoint } from "../../../protocol/schema/views/usage-views.ts";
import { run } from "../fixtures/run-command.ts";
import { usagePlot } from "./usage-plot.ts";
import { parseSince } from "./usage-since.ts";
import { usage } from "./usage.ts";

const style = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same };
function same(text: string): string {
  return text;
}

const day = (date: number) => new Date(2026, 10, date).getTime();

function point(date: number, key: string, costUsd: number): UsagePoint {
  return { at: day(date), key, turns: 2, usage: { input: 100, output: 10, cacheRead: 0, cacheWrite: 0 }, costUsd, unpriced: 0 };
}

const points = [
  point(1, "claude", 4),
  point(1, "codex", 1),
  point(3, "claude", 2),
  { ...point(3, "codex", 0.5), costIsPartial: true as const },
];
const options = { measure: null, now: day(4) + 1_000, width: 60, isUnicode: true, style };

function apiWith(series: UsagePoint[]): { api: { usage: Partial<Api["usage"]> }; requests: UsageSeriesParams[] } {
  const requests: UsageSeriesParams[] = [];
  const answer: Api["usage"]["series"] = async (params) => {
    requests.push(params);
    return series;
  };
  return { api: { usage: { series: answer } }, requests };
}

test("a plot by day has a bar for each day, also for a day without usage", () => {
  expect(usagePlot({ step: "day", points }, { ...options, by: "day" })).toBe(`cost by day, 2026-11-01 to 2026-11-04
2026-11-01  ${"█".repeat(31)}   $5.00  4 turns
2026-11-02  ${" ".repeat(31)}   $0.00  0 turns
2026-11-03  ${"█".repeat(15)}▌${" ".repeat(15)}  $2.50+  4 turns
2026-11-04  ${" ".repeat(31)}   $0.00  0 turns
total $7.50+, 8 turns
`);
});

test("a plot by agent has a bar and a line for each agent, on one scale", () => {
  expect(usagePlot({ step: "day", points }, { ...options, by: "agent" })).toBe(`cost by agent, 2026-11-01 to 2026-11-04
claude  ${"█".repeat(35)}   $6.00  4 turns
codex   ${"█".repeat(8)}▊${" ".repeat(26)}  $1.50+  4 turns
total $7.50+, 8 turns

cost by day
claude  ███···▄▄▄···
codex   ▂▂▂···▁▁▁···
        2026-11-01
`);
});

test("without a known price a plot draws tokens, and a terminal without Unicode gets ASCII", () => {
  const free = [point(1, "ollama", 0), point(2, "other\u001b[31m", 0)];
  const text = usagePlot({ step: "day", points: free }, { ...options, by: "model", isUnicode: false });
  expect(text).toStartWith("tokens by model");
  // oxlint-disable-next-line no-control-regex
  expect(text).toMatch(/^[\x20-\x7e\n]+$/);
  expect(text).toContain("other   ####");
});

test("many keys are summed as others, and no line is wider than the terminal", () => {
  const many = Array.from({ length: 40 }, (_, index) => point(1 + (index % 3), `/projects/${"long/".repeat(10)}${index}`, index + 1));
  const lines = usagePlot({ step: "day", points: many }, { ...options, by: "project", width: 80 }).split("\n");
  expect(lines.filter((line) => line.startsWith("others"))).toHaveLength(2);
  expect(Math.max(...lines.map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(80);
});

test("--since takes a duration or a date; a whole day begins at midnight", () => {
  const now = new Date(2026, 10, 18, 15, 30).getTime();
  expect(parseSince("12h", now)).toBe(now - 43_200_000);
  expect(parseSince("7d", now)).toBe(day(11));
  expect(parseSince("2026-11-01", now)).toBe(day(1));
  for (const wrong of ["tomorrow", "2026-02-30", "7", "-3d", "2026-11-19", "99999999d"])
    expect(() => parseSince(wrong, now)).toThrow("--since");
});

test("Python's csv module reads every row of --csv, also with commas, quotes and formulas in a name", async () => {
  const { api, requests } = apiWith([point(1, 'a, "b"\nc', 0.1 + 0.2), point(2, "=1+1", 1)]);
  const { out } = await run(usage, ["--csv", "--by", "model", "--since", "2026-10-01"], { api });
  expect(requests).toMatchObject([{ by: "model", step: "day", since: new Date(2026, 9, 1).getTime(), project: "/work/project" }]);
  const read = "import csv, io, json, sys; print(json.dumps(list(csv.reader(io.StringIO(sys.stdin.read(), newline='')))))";
  const python = Bun.spawnSync(["python3", "-c", read], { stdin: Buffer.from(out) });
  expect(python.stderr.toString()).toBe("");
  expect(JSON.parse(python.stdout.toString())).toEqual([
    ["date", "model", "turns", "input", "output", "cache_read", "cache_write", "cost_usd", "cost_is_partial"],
    ["2026-11-01", 'a, "b"\nc', "2", "100", "10", "0", "0", "0.3", "false"],
    ["2026-11-02", "'=1+1", "2", "100", "10", "0", "0", "1", "false"],
  ]);
  expect((await run(usage, ["--csv"], { api: apiWith(points).api })).out.split("\r\n").slice(0, 2)).toEqual([
    "date,turns,input,output,cache_read,cache_write,cost_usd,cost_is_partial",
    "2026-11-01,4,200,20,0,0,5,false",
  ]);
});

test("a table since a time has the sums of the series, and a long plot has weeks", async () => {
  setSystemTime(new Date(2026, 10, 18, 12));
  try {
    const { api } = apiWith(points);
    expect((await run(usage, ["--since", "30d", "--by", "agent", "--json"], { api })).json()).toMatchObject([
      { key: "claude", turns: 4, cost_usd: 6 },
      { key: "codex", turns: 4, cost_usd: 1.5, cost_is_partial: true },
    ]);
    const old = apiWith([{ ...point(1, "claude", 1), at: new Date(2026, 8, 7).getTime() }]);
    expect((await run(usage, ["--plot"], { api: old.api })).out).toStartWith("cost by week, 2026-09-07 to 2026-11-18\n2026-09-07  ");
    expect(old.requests.map(({ step }) => step)).toEqual(["day", "week"]);
    expect((await run(usage, ["--plot", "--since", "3d"], { api: apiWith([]).api })).out).toContain("nothing was spent in this project");
  } finally {
    setSystemTime();
  }
});

test("flags that exclude each other are refused", async () => {
  for (const flags of [
    ["--plot", "--csv"],
    ["--csv", "--json"],
    ["--measure", "turns"],
    ["--limits", "--since", "1d"],
    ["--limits", "--plot"],
  ])
    await expect(run(usage, flags, { api: apiWith([]).api })).rejects.toMatchObject({ code: "usage" });
});
