// skein search: finds words in stored nodes, and prints each match with its neighbour nodes.
import { nodeSummary } from "../../../protocol/tree/node-summary.ts";
import { printableLabel } from "../../print/session-label.ts";
import { oneLine } from "../../../kit/text/cut-text.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { type Node, shortId } from "../../../protocol/tree/node.ts";
import type { FoundNode } from "../../../protocol/tree/views.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { nodeMarker } from "../../print/tree.ts";
import { stripControls, type Style, styleOf } from "../../terminal/style.ts";
import { cutToWidth } from "../../terminal/table.ts";

export const search: Command = {
  name: "search",
  summary: "find words in messages, tool calls and outputs",
  usage: "<query> [--all-projects] [--limit n] [--json]",
  positionals: { min: 1, max: 64 },
  flags: [
    { name: "all-projects", summary: "search all projects, not only this one" },
    { name: "limit", value: "n", summary: "print at most n nodes (default 10)" },
    jsonFlag,
  ],
  notes: `Every word must occur, "quoted words" as a phrase. The last word may be incomplete.
The exit code is 0 if something was found, else 1.`,
  run: runSearch,
};

async function runSearch(args: Args, ctx: CommandContext): Promise<number> {
  const limit = parseLimit(args.flags["limit"]);
  const query = args.positionals.join(" ");
  if (!/[\p{L}\p{N}_]/u.test(query)) throw new Fault("usage", `"${query}" has no word to search for`);
  const everywhere = args.flags["all-projects"] === true;
  const api = await ctx.api();
  const matches = await api.search.find({ query, project: everywhere ? null : ctx.project, limit });
  if (args.flags["json"]) ctx.out.write(jsonText(matches));
  else if (matches.length === 0) ctx.err.write(`nothing found${everywhere ? "" : " in this project (--all-projects searches the rest)"}\n`);
  else ctx.out.write(matches.map((match) => matchText(match, ctx, everywhere)).join("\n"));
  return matches.length === 0 ? 1 : 0;
}

function parseLimit(value: Args["flags"][string]): number {
  if (value === undefined) return 10;
  const limit = Number(value);
  if (Number.isInteger(limit) && limit > 0 && limit <= 10_000) return limit;
  throw new Fault("usage", `--limit must be a whole number from 1 to 10000, not "${String(value)}"`);
}

function matchText(match: FoundNode, ctx: CommandContext, withProject: boolean): string {
  const style = styleOf(ctx.out);
  const { node, session, before, after } = match;
  const head = [
    style.green(`[${printableLabel(session)}]`),
    style.bold(shortId(node.id)),
    style.dim(new Date(node.at).toISOString().slice(0, 16).replace("T", " ")),
    ...(withProject ? [style.dim(stripControls(session.project))] : []),
  ];
  const lines = [
    head.join("  "),
    ...(before === null ? [] : [neighbourLine(before, ctx, style)]),
    `${nodeMarker(node)} ${highlightedText(match, style)}`,
    ...(after === null ? [] : [neighbourLine(after, ctx, style)]),
  ];
  return `${lines.join("\n")}\n`;
}

function neighbourLine(node: Node, ctx: CommandContext, style: Style): string {
  return style.dim(
    cutToWidth(
      `${nodeMarker(node)} ${shortId(node.id)} ${stripControls(oneLine(nodeSummary(node), 2 * ctx.out.columns))}`,
      ctx.out.columns,
    ),
  );
}

/** Without colours the matched words are in [brackets]. */
function highlightedText({ snippet, marks }: FoundNode, style: Style): string {
  let text = "";
  let last = 0;
  for (const [start, end] of marks) {
    const hit = stripControls(snippet.slice(start, end));
    text += stripControls(snippet.slice(last, start)) + (style.yellow("") === "" ? `[${hit}]` : style.bold(style.yellow(hit)));
    last = end;
  }
  return (text + stripControls(snippet.slice(last))).trim();
}
