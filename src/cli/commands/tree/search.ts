// skein search: what was said or printed anywhere, with the node and its neighbours.
import { oneLine } from "../../../kit/text/cut-text.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { type Node, shortId } from "../../../protocol/tree/node.ts";
import { type FoundNode, foundNodeRecord } from "../../../protocol/tree/views.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { nodeMarker, nodeSummary } from "../../print/tree.ts";
import { stripControls, type Style, styleOf } from "../../terminal/style.ts";
import { fit } from "../../terminal/table.ts";

export const search: Command = {
  name: "search",
  summary: "find words in messages, tool calls and outputs",
  usage: "<query> [--all-projects] [--limit n] [--json]",
  positionals: { min: 1, max: 64 },
  flags: [
    { name: "all-projects", summary: "not only this project" },
    { name: "limit", value: "n", summary: "at most so many nodes (default 10)" },
    jsonFlag,
  ],
  notes: `Every word must occur; "quoted words" as they stand; the last word may be a beginning.
Exit code 0 when something was found, 1 when nothing was.`,
  run: runSearch,
};

async function runSearch(args: Args, ctx: CommandContext): Promise<number> {
  const limit = limitOf(args.flags["limit"]);
  const query = args.positionals.join(" ");
  if (!/[\p{L}\p{N}_]/u.test(query)) throw new Fault("usage", `"${query}" has no word to look for`);
  const everywhere = args.flags["all-projects"] === true;
  const api = await ctx.api();
  const found = await api.search.find({ query, project: everywhere ? null : ctx.project, limit });
  if (args.flags["json"]) ctx.out.write(jsonText(found.map(foundNodeRecord)));
  else if (found.length === 0) ctx.err.write(`nothing found${everywhere ? "" : " in this project (--all-projects searches the rest)"}\n`);
  else ctx.out.write(found.map((each) => foundText(each, ctx, everywhere)).join("\n"));
  return found.length === 0 ? 1 : 0;
}

function limitOf(value: Args["flags"][string]): number {
  if (value === undefined) return 10;
  const limit = Number(value);
  if (Number.isInteger(limit) && limit > 0 && limit <= 10_000) return limit;
  throw new Fault("usage", `--limit must be a whole number from 1 to 10000, not "${String(value)}"`);
}

function foundText(found: FoundNode, ctx: CommandContext, withProject: boolean): string {
  const style = styleOf(ctx.out);
  const { node, session, before, after } = found;
  const head = [
    style.green(`[${stripControls(session.name ?? shortId(session.id))}]`),
    style.bold(shortId(node.id)),
    style.dim(new Date(node.at).toISOString().slice(0, 16).replace("T", " ")),
    ...(withProject ? [style.dim(stripControls(session.project))] : []),
  ];
  const lines = [
    head.join("  "),
    ...(before === null ? [] : [neighbour(before, ctx, style)]),
    `${nodeMarker(node)} ${marked(found, style)}`,
    ...(after === null ? [] : [neighbour(after, ctx, style)]),
  ];
  return `${lines.join("\n")}\n`;
}

function neighbour(node: Node, ctx: CommandContext, style: Style): string {
  return style.dim(
    fit(`${nodeMarker(node)} ${shortId(node.id)} ${stripControls(oneLine(nodeSummary(node), 2 * ctx.out.columns))}`, ctx.out.columns),
  );
}

/** Without colours the hits stand in [brackets]. */
function marked({ snippet, marks }: FoundNode, style: Style): string {
  let text = "";
  let at = 0;
  for (const [start, end] of marks) {
    const hit = stripControls(snippet.slice(start, end));
    text += stripControls(snippet.slice(at, start)) + (style.yellow("") === "" ? `[${hit}]` : style.bold(style.yellow(hit)));
    at = end;
  }
  return (text + stripControls(snippet.slice(at))).trim();
}
