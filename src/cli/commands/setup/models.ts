// skein models: lists models with their context windows and prices.
import { priceText, windowText } from "../../../kit/text/price-text.ts";
import type { ModelInfo } from "../../../protocol/api/api.ts";
import { stripControls } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

export const models = reportCommand({
  name: "models",
  summary: "list models, ready ones first",
  usage: "[--all] [--json]",
  flags: [{ name: "all", summary: "also list models without a key or a server" }],
  notes: "Prices are in dollars per million tokens. A * marks the default model.",
  async report(args, ctx) {
    const api = await ctx.api();
    const list = (await api.models.list()).toSorted(
      (a, b) => Number(b.isDefault) - Number(a.isDefault) || Number(b.ready) - Number(a.ready),
    );
    const anyReady = list.some((model) => model.ready);
    const visible = args.flags["all"] || !anyReady ? list : list.filter((model) => model.ready || model.isDefault);
    const hidden = list.length - visible.length;
    return {
      json: list,
      text(style) {
        const rows = visible.map((model) => cells(model, model.ready ? (text) => text : style.dim));
        return tableText(rows, { columns, paintTitle: style.dim });
      },
      remarks(style) {
        if (!anyReady) return "no model is ready: `skein auth status` shows which key to set\n";
        return hidden > 0 ? style.dim(`${hidden} more without a key: skein models --all\n`) : "";
      },
    };
  },
});

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
