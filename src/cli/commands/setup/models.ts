// skein models: which models can answer here, and what they cost.
import { priceText, windowText } from "../../../kit/text/price-text.ts";
import type { ModelInfo } from "../../../protocol/api/api.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";

export const models: Command = {
  name: "models",
  summary: "list models, those that are ready first",
  usage: "[--all] [--json]",
  positionals: { min: 0, max: 0 },
  flags: [{ name: "all", summary: "also those without a key or a server" }, jsonFlag],
  notes: `Prices are dollars for a million tokens. A * marks the default model.`,
  run: runModels,
};

async function runModels(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const rows = (await api.models.list()).toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault) || Number(b.ready) - Number(a.ready));
  if (args.flags["json"]) {
    ctx.out.write(jsonText(rows));
    return 0;
  }
  const style = styleOf(ctx.out);
  const anyReady = rows.some((row) => row.ready);
  const listed = args.flags["all"] || !anyReady ? rows : rows.filter((row) => row.ready || row.isDefault);
  ctx.out.write(
    tableText(
      listed.map((row) => cells(row, row.ready ? (text) => text : style.dim)),
      { columns, paintTitle: style.dim },
    ),
  );
  const hidden = rows.length - listed.length;
  if (hidden > 0) ctx.err.write(style.dim(`${hidden} more without a key: skein models --all\n`));
  if (!anyReady) ctx.err.write("no model is ready: `skein auth status` says which key to set\n");
  return 0;
}

const columns = [
  {},
  { title: "MODEL" },
  { title: "READY" },
  { title: "WINDOW", align: "right" as const },
  { title: "IN", align: "right" as const },
  { title: "OUT", align: "right" as const },
];

function cells(row: ModelInfo, paint: (text: string) => string): string[] {
  const texts = [
    row.isDefault ? "*" : " ",
    stripControls(row.name),
    row.ready ? "yes" : "no",
    windowText(row.contextWindow),
    priceText(row.inputPrice),
    priceText(row.outputPrice),
  ];
  return texts.map(paint);
}
