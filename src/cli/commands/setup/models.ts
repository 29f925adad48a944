// skein models: lists models with their context windows and prices.
import { priceText, windowText } from "../../../kit/text/price-text.ts";
import type { ModelInfo } from "../../../protocol/api/api.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { itemTable, type ItemColumn } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

export const models = reportCommand({
  name: "models",
  summary: "list models: ready, recommended and new ones first",
  usage: "[--all] [--names] [--json]",
  flags: [
    { name: "all", summary: "also list models without a key or a server" },
    { name: "names", summary: "print only aliases and names, one per line (for shell completion)" },
  ],
  notes: `Prices are in dollars per million tokens. A * marks the default model.

An alias means the newest model of its line that is ready. Aliases, ids without a
vendor and other spellings (gpt52, "GPT 5.2") work wherever a model is named. Other
models work too: write vendor/id.`,
  async report(args, ctx) {
    const api = await ctx.api();
    const list = await api.models.list();
    const anyReady = list.some((model) => model.ready);
    const visible = args.flags["all"] || !anyReady ? list : list.filter((model) => model.ready || model.isDefault);
    if (args.flags["names"]) {
      const names = [...visible.flatMap(({ aliases }) => aliases), ...visible.map(({ name }) => name)];
      return { json: names, text: () => names.map((name) => `${stripControls(name)}\n`).join("") };
    }
    const unlistedCount = list.length - visible.length;
    return {
      json: list,
      text: (style) => modelTable(visible, style),
      remarks(style) {
        if (!anyReady) return "no model is ready: `skein auth login` says which key or sign-in to use\n";
        return unlistedCount > 0 ? style.dim(`${unlistedCount} more without a key: skein models --all\n`) : "";
      },
    };
  },
});

const columns: readonly ItemColumn<ModelInfo>[] = [
  { cell: ({ isDefault }) => (isDefault ? "*" : " ") },
  { title: "MODEL", cell: ({ name }) => stripControls(name) },
  { title: "ALIAS", cell: ({ aliases }) => aliases.join(", ") },
  { title: "READY", cell: ({ ready }) => (ready ? "yes" : "no") },
  { title: "WINDOW", align: "right", cell: ({ contextWindow }) => windowText(contextWindow) },
  { title: "IN", align: "right", cell: ({ inputPrice }) => priceText(inputPrice) },
  { title: "OUT", align: "right", cell: ({ outputPrice }) => priceText(outputPrice) },
];

function modelTable(models: readonly ModelInfo[], style: Style): string {
  const dimmed = columns.map((column) => ({
    ...column,
    cell: (model: ModelInfo) => (model.ready ? column.cell(model) : style.dim(column.cell(model))),
  }));
  return itemTable(models, dimmed, { paintTitle: style.dim });
}
