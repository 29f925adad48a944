// skein usage: tokens and money, by day, agent, model or project.
import type { UsageKey, UsageEntry } from "../../../protocol/api/api.ts";
import { addUsage, zeroUsage } from "../../../protocol/tree/usage.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";

const keys = ["day", "agent", "model", "project"] as const satisfies readonly UsageKey[];

export const usage: Command = {
  name: "usage",
  summary: "tokens and money spent",
  usage: "[--by day|agent|model|project] [--all-projects] [--json]",
  positionals: { min: 0, max: 0 },
  flags: [
    { name: "by", value: "what", choices: keys, summary: "one line for each of these (default day)" },
    { name: "all-projects", summary: "not only this project" },
    jsonFlag,
  ],
  notes: `A + after an amount says that some turns had no known price.`,
  run: runUsage,
};

async function runUsage(args: Args, ctx: CommandContext): Promise<number> {
  const by = (args.flags["by"] ?? "day") as UsageKey;
  const everywhere = args.flags["all-projects"] === true || by === "project";
  const api = await ctx.api();
  const rows = await api.usage.report({ by, project: everywhere ? null : ctx.project });
  if (args.flags["json"]) {
    ctx.out.write(jsonText(rows));
    return 0;
  }
  if (rows.length === 0) {
    ctx.out.write(everywhere ? "nothing was spent yet\n" : "nothing was spent in this project yet (--all-projects shows the rest)\n");
    return 0;
  }
  const style = styleOf(ctx.out);
  const lines = rows.map(cells);
  if (rows.length > 1) lines.push(cells(total(rows)).map(style.bold));
  const right = (title: string) => ({ title, align: "right" as const });
  const columns = [
    { title: by.toUpperCase() },
    right("TURNS"),
    right("INPUT"),
    right("OUTPUT"),
    right("CACHE READ"),
    right("CACHE WRITE"),
    right("COST"),
  ];
  ctx.out.write(tableText(lines, { columns, paintTitle: style.dim }));
  return 0;
}

function total(rows: readonly UsageEntry[]): UsageEntry {
  return rows.reduce(
    (sum, row) => ({
      ...sum,
      turns: sum.turns + row.turns,
      usage: addUsage(sum.usage, row.usage),
      costUsd: sum.costUsd + row.costUsd,
      unpriced: sum.unpriced + row.unpriced,
    }),
    { key: "total", turns: 0, usage: zeroUsage, costUsd: 0, unpriced: 0 },
  );
}

function cells(row: UsageEntry): string[] {
  const { input, output, cacheRead, cacheWrite } = row.usage;
  const cost = `$${row.costUsd.toFixed(row.costUsd > 0 && row.costUsd < 1 ? 4 : 2)}${row.unpriced > 0 ? "+" : ""}`;
  return [stripControls(row.key), ...[row.turns, input, output, cacheRead, cacheWrite].map((count) => count.toLocaleString("en-US")), cost];
}
