// skein diff: compares two branches after the node where they diverge.
import { nodeSummary } from "../../../protocol/tree/node-summary.ts";
import { groupDigits, oneLine } from "../../../kit/text/cut-text.ts";
import { branchStats, branchName, changeSigns } from "../../../protocol/tree/branch-stats.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { BranchComparison, BranchSide } from "../../../protocol/tree/views.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { nodeMarker } from "../../print/tree.ts";
import { stripControls, type Style, styleOf } from "../../terminal/style.ts";
import { cutToWidth, tableText } from "../../terminal/table.ts";

export const diff: Command = {
  name: "diff",
  summary: "compare two branches: where they diverge, what each did and cost",
  usage: "<session> <session> [--json]",
  positionals: { min: 2, max: 2 },
  flags: [jsonFlag],
  notes: "A node can be given instead of a session. Everything is counted after the node where the two part.",
  run: runDiff,
};

async function runDiff(args: Args, ctx: CommandContext): Promise<number> {
  const [a = "", b = ""] = args.positionals;
  const api = await ctx.api();
  const comparison = await api.branch.compare({ a, b, directory: ctx.cwd });
  ctx.out.write(args.flags["json"] ? jsonText(comparison) : comparisonText(comparison, ctx));
  return 0;
}

function comparisonText({ fork, sharedNodes, a, b }: BranchComparison, ctx: CommandContext): string {
  const style = styleOf(ctx.out);
  const { columns } = ctx.out;
  const parting =
    fork === null
      ? "the two have no node in common"
      : `they diverge after ${style.bold(shortId(fork.id))} (${groupDigits(sharedNodes)} shared)\n${style.dim(cutToWidth(`${nodeMarker(fork)} ${stripControls(oneLine(nodeSummary(fork), 2 * columns))}`, columns))}`;
  const rows = branchStats.map(([name, figure]) => [style.dim(name), figure(a), figure(b)]);
  const table = tableText([["", style.green(stripControls(branchName(a))), style.green(stripControls(branchName(b)))], ...rows], {
    columns: [{}, {}, {}],
  });
  return [`${parting}\n`, table, ...[a, b].map((side) => sideText(side, style, columns))].join("\n");
}

function sideText(side: BranchSide, style: Style, columns: number): string {
  const head = style.green(stripControls(branchName(side)));
  if (side.nodes === 0) return `${head}\n  nothing after that\n`;
  const lines = [
    ...(side.firstMessage === null ? [] : [`  ○ ${stripControls(oneLine(side.firstMessage, 2 * columns))}`]),
    ...(side.answer === null ? [] : [`  ● ${stripControls(oneLine(side.answer, 2 * columns))}`]),
    ...(side.files ?? []).map((file) => `  ${changeSigns[file.kind]} ${stripControls(file.path)} +${file.added} -${file.removed}`),
  ];
  return `${[head, ...lines.map((line) => cutToWidth(line, columns))].join("\n")}\n`;
}
