// skein usage: sums tokens and cost by day, agent, model or project.
import { costText } from "../../../protocol/tree/usage-text.ts";
import type { UsageKey, UsageEntry } from "../../../protocol/api/api.ts";
import { groupDigits } from "../../../kit/text/cut-text.ts";
import { addUsage, zeroUsage } from "../../../protocol/tree/usage.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";

const keys = ["day", "agent", "model", "project"] as const satisfies readonly UsageKey[];

export const usage: Command = {
  name: "usage",
  summary: "show tokens and money spent",
  usage: "[--by day|agent|model|project] [--all-projects] [--json]",
  positionals: { min: 0, max: 0 },
  flags: [
    { name: "by", value: "what", choices: keys, summary: "the unit of one line (default day)" },
    { name: "all-projects", summary: "include all projects, not only this one" },
    jsonFlag,
  ],
  notes: "A + after an amount means that the price of some turns is unknown.",
  run: runUsage,
};

async function runUsage(args: Args, ctx: CommandContext): Promise<number> {
  const by = (args.flags["by"] ?? "day") as UsageKey;
  const everywhere = args.flags["all-projects"] === true || by === "project";
  const api = await ctx.api();
  const entries = await api.usage.report({ by, project: everywhere ? null : ctx.project });
  if (args.flags["json"]) {
    ctx.out.write(jsonText(entries));
    return 0;
  }
  if (entries.length === 0) {
    ctx.out.write(everywhere ? "nothing was spent yet\n" : "nothing was spent in this project yet (--all-projects shows all)\n");
    return 0;
  }
  const style = styleOf(ctx.out);
  const lines = entries.map(cells);
  if (entries.length > 1) lines.push(cells(sumEntries(entries)).map(style.bold));
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

function sumEntries(entries: readonly UsageEntry[]): UsageEntry {
  return entries.reduce(
    (sum, entry) => ({
      ...sum,
      turns: sum.turns + entry.turns,
      usage: addUsage(sum.usage, entry.usage),
      costUsd: sum.costUsd + entry.costUsd,
      unpriced: sum.unpriced + entry.unpriced,
    }),
    { key: "total", turns: 0, usage: zeroUsage, costUsd: 0, unpriced: 0 },
  );
}

function cells({ key, turns, usage, costUsd, unpriced }: UsageEntry): string[] {
  const counts = [turns, usage.input, usage.output, usage.cacheRead, usage.cacheWrite].map(groupDigits);
  const cost = costText(costUsd, { digits: costUsd > 0 && costUsd < 1 ? 4 : 2 });
  return [stripControls(key), ...counts, `${cost}${unpriced > 0 ? "+" : ""}`];
}
