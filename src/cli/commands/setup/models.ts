// skein models: lists models with their context windows and prices.
import { priceText, windowText } from "../../../kit/text/price-text.ts";
import type { ModelInfo } from "../../../protocol/api/api.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { itemTable, type ItemColumn } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

export const models = reportCommand({
  name: "models",
  summary: "list models: ready, recommended and new ones first",
  usage: "[word] [--all] [--names] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "all", summary: "also list models that are neither ready nor recommended" },
    { name: "names", summary: "print only aliases and names, one per line (for shell completion)" },
  ],
  notes: `With a word it lists every model that has the word in its name or alias.
Prices are in dollars per million tokens. A * marks the default model.

An alias means the newest model of its line that is ready. Aliases, ids without a
vendor and other spellings (gpt52, "GPT 5.2") work wherever a model is named. Other
models work too: write vendor/id.`,
  async report(args, ctx) {
    const api = await ctx.api();
    const [word] = args.positionals;
    const all = await api.models.list();
    const list = word === undefined ? all : all.filter((model) => matches(model, word));
    const anyReady = all.some((model) => model.ready);
    const isListed = (model: ModelInfo) => model.ready || model.isDefault || (!anyReady && model.recommended);
    // A word asks for certain models, so that none of them is left out.
    const listed = list.filter(isListed);
    const visible = args.flags["all"] || word !== undefined || listed.length === 0 ? list : listed;
    if (args.flags["names"]) {
      const names = [...visible.flatMap(({ aliases }) => aliases), ...visible.map(({ name }) => name)];
      return { json: names, text: () => names.map((name) => `${stripControls(name)}\n`).join("") };
    }
    const unlistedCount = list.length - visible.length;
    return {
      json: list,
      text: (style) => (visible.length === 0 ? `no model has "${stripControls(word ?? "")}" in its name\n` : modelTable(visible, style)),
      remarks(style) {
        const more = unlistedCount > 0 ? style.dim(`${unlistedCount} more without a key: skein models --all\n`) : "";
        return anyReady ? more : `${more}no model is ready: \`skein auth login\` says which key or sign-in to use\n`;
      },
    };
  },
});

function matches({ name, aliases }: ModelInfo, word: string): boolean {
  return [name, ...aliases].some((text) => text.toLowerCase().includes(word.toLowerCase()));
}

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
