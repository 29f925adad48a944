// skein models: lists models with their context windows and prices.
import { priceText, windowText } from "../../../kit/text/price-text.ts";
import type { ModelInfo } from "../../../protocol/api/api.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";

export const models: Command = {
  name: "models",
  summary: "list models, ready ones first",
  usage: "[--all] [--json]",
  positionals: { min: 0, max: 0 },
  flags: [{ name: "all", summary: "also list models without a key or a server" }, jsonFlag],
  notes: "Prices are in dollars per million tokens. A * marks the default model.",
  run: runModels,
};

async function runModels(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const list = (await api.models.list()).toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault) || Number(b.ready) - Number(a.ready));
  if (args.flags["json"]) {
    ctx.out.write(jsonText(list));
    return 0;
  }
  const style = styleOf(ctx.out);
  const anyReady = list.some((model) => model.ready);
  const visible = args.flags["all"] || !anyReady ? list : list.filter((model) => model.ready || model.isDefault);
  ctx.out.write(
    tableText(
      visible.map((model) => cells(model, model.ready ? (text) => text : style.dim)),
      { columns, paintTitle: style.dim },
    ),
  );
  const hidden = list.length - visible.length;
  if (hidden > 0) ctx.err.write(style.dim(`${hidden} more without a key: skein models --all\n`));
  if (!anyReady) ctx.err.write("no model is ready: `skein auth status` shows which key to set\n");
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

function cells(model: ModelInfo, paint: (text: string) => string): string[] {
  const texts = [
    model.isDefault ? "*" : " ",
    stripControls(model.name),
    model.ready ? "yes" : "no",
    windowText(model.contextWindow),
    priceText(model.inputPrice),
    priceText(model.outputPrice),
  ];
  return texts.map(paint);
}
