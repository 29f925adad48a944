// skein diff: compares two branches after the node where they diverge.
import { oneLine } from "../../../kit/text/cut-text.ts";
import {
  branchStats,
  branchName,
  changeText,
  forkText,
  notByBranchText,
  unknownFilesText,
  writersText,
} from "../../../protocol/tree/branch-stats.ts";
import { nodeSummary } from "../../../protocol/tree/node-summary.ts";
import type { BranchComparison, BranchSide } from "../../../protocol/tree/views.ts";
import { nodeMarker } from "../../print/tree.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { cutToWidth, tableText } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

export const diff = reportCommand({
  name: "diff",
  summary: "compare two branches: where they diverge, what each did and cost",
  usage: "<session> <session> [--json]",
  positionals: { min: 2, max: 2 },
  listing: "`skein list` lists the sessions; `skein catch-up <session>` shows the changes of one",
  notes: `A node can be given instead of a session. Counts start after the node where the
two branches diverge. "files" are the changes by the branch's own turns. "files by
others" are changes by a person or another session meanwhile; they are listed as
not by this branch.`,
  async report(args, ctx) {
    const [a = "", b = ""] = args.positionals;
    const api = await ctx.api();
    const comparison = await api.branch.compare({ a, b, directory: ctx.cwd });
    return { json: comparison, text: (style) => comparisonText(comparison, style, ctx.out.columns) };
  },
});

function comparisonText(comparison: BranchComparison, style: Style, columns: number): string {
  const { fork, a, b } = comparison;
  const excerpt = (mark: string, text: string) => cutToWidth(`${mark} ${stripControls(oneLine(text, 2 * columns))}`, columns);
  const nameOf = (side: BranchSide) => style.green(stripControls(branchName(side)));
  const sideText = (side: BranchSide) => {
    if (side.nodes === 0) return `${nameOf(side)}\n  nothing after that\n`;
    const unknown = unknownFilesText(side);
    const lines = [
      ...(side.firstMessage === null ? [] : [excerpt("  ○", side.firstMessage)]),
      ...(side.answer === null ? [] : [excerpt("  ●", side.answer)]),
      ...(side.files ?? []).map((file) => excerpt(" ", changeText(file))),
      ...(unknown === null ? [] : [excerpt(" ", unknown)]),
      ...(side.otherFiles.length === 0 ? [] : [`  ${style.dim(notByBranchText)}`]),
      ...side.otherFiles.map((file) => style.dim(excerpt("   ", `${changeText(file)}  (${writersText(file)})`))),
    ];
    return `${[nameOf(side), ...lines].join("\n")}\n`;
  };
  const head =
    fork === null
      ? "the two have no node in common"
      : `${forkText(comparison, style.bold)}\n${style.dim(excerpt(nodeMarker(fork), nodeSummary(fork)))}`;
  const rows = branchStats.map(([name, figure]) => [style.dim(name), figure(a), figure(b)]);
  const table = tableText([["", nameOf(a), nameOf(b)], ...rows], { columns: [{}, {}, {}] });
  return [`${head}\n`, table, sideText(a), sideText(b)].join("\n");
}
