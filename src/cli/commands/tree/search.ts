// skein search: finds words in stored nodes, and prints each match with its neighbour nodes.
import { homeProject } from "../../../protocol/tree/turn.ts";
import { oneLine } from "../../../kit/text/cut-text.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { nodeSummary } from "../../../protocol/tree/node-summary.ts";
import { type Node, shortId } from "../../../protocol/tree/node.ts";
import type { FoundMessage } from "../../../protocol/transcripts/agent-transcript.ts";
import type { FoundNode } from "../../../protocol/tree/views.ts";
import { countFlag } from "../../parse/args.ts";
import { printableLabel } from "../../print/session-label.ts";
import { agentsFlag, agentsOf, withIndexProgress } from "./list-transcripts.ts";
import { nodeMarker } from "../../print/tree.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { cutToWidth } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

export const search = reportCommand({
  name: "search",
  summary: "find words in messages, tool calls and outputs",
  usage: "<query> [--all-projects] [--agents all|name,...] [--limit n] [--json]",
  positionals: { min: 1, max: 64 },
  flags: [
    { name: "all-projects", summary: "search all projects, not only this one" },
    agentsFlag,
    { name: "limit", value: "n", summary: "print at most n nodes (default 10)" },
  ],
  notes: `Every word must occur, "quoted words" as a phrase. The last word may be incomplete.
--agents also searches the sessions that Claude Code, Codex, Gemini CLI, opencode and
pi keep on this machine: messages, calls and the beginning of each result.
The exit code is 0 if something was found, else 1.`,
  async report(args, ctx) {
    const limit = countFlag(args, "limit", 10, 10_000);
    const query = args.positionals.join(" ");
    if (!/[\p{L}\p{N}_]/u.test(query)) throw new Fault("usage", `"${query}" has no word to search for`);
    const everywhere = args.flags["all-projects"] === true;
    const api = await ctx.api();
    const project = everywhere ? null : ctx.project;
    const agents = agentsOf(args);
    const messages =
      agents === null
        ? null
        : await withIndexProgress(ctx, (onProgress) => api.transcript.search({ query, agents: [...agents], project, limit, onProgress }));
    const matches = await api.search.find({ query, project, limit });
    // The nodes of an imported session are among the matches of the store.
    const others = messages?.filter(({ transcript }) => transcript.session === null) ?? [];
    const isEmpty = matches.length + others.length === 0;
    const scope = everywhere ? "" : " in this project (--all-projects searches all)";
    return {
      json: messages === null ? matches : { nodes: matches, messages: others },
      text: (style) => {
        const context = { style, columns: ctx.out.columns, everywhere };
        return [...matches.map((match) => matchText(match, context)), ...others.map((found) => messageText(found, context))].join("\n");
      },
      remarks: () => (isEmpty ? `nothing found${scope}\n` : ""),
      exitCode: isEmpty ? 1 : 0,
    };
  },
});

type MatchContext = { style: Style; columns: number; everywhere: boolean };

function matchText(match: FoundNode, { style, columns, everywhere }: MatchContext): string {
  const { node, session, before, after } = match;
  const head = [
    style.green(`[${printableLabel(session)}]`),
    style.bold(shortId(node.id)),
    style.dim(timeText(node.at)),
    ...(everywhere ? [style.dim(stripControls(homeProject(session)))] : []),
  ];
  const neighbourLines = (neighbour: Node | null): string[] => {
    if (neighbour === null) return [];
    const summary = stripControls(oneLine(nodeSummary(neighbour), 2 * columns));
    return [style.dim(cutToWidth(`${nodeMarker(neighbour)} ${shortId(neighbour.id)} ${summary}`, columns))];
  };
  const lines = [
    head.join("  "),
    ...neighbourLines(before),
    `${nodeMarker(node)} ${highlightedText(match, style)}`,
    ...neighbourLines(after),
  ];
  return `${lines.join("\n")}\n`;
}

/** A match in a transcript of another agent. */
function messageText(found: FoundMessage, { style, everywhere }: MatchContext): string {
  const { transcript, author, at } = found;
  const head = [
    style.green(`[${transcript.agent}]`),
    style.bold(transcript.id.slice(-8)),
    style.dim(timeText(at)),
    style.dim(author),
    ...(everywhere ? [style.dim(stripControls(transcript.directory ?? "?"))] : []),
  ];
  return `${head.join("  ")}\n${highlightedText(found, style)}\n`;
}

function timeText(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

/** Without colours the matched words are in [brackets]. */
function highlightedText({ snippet, marks }: Pick<FoundNode, "snippet" | "marks">, style: Style): string {
  let text = "";
  let previousEnd = 0;
  for (const [start, end] of marks) {
    const hit = stripControls(snippet.slice(start, end));
    text += stripControls(snippet.slice(previousEnd, start)) + (style.yellow("") === "" ? `[${hit}]` : style.bold(style.yellow(hit)));
    previousEnd = end;
  }
  return (text + stripControls(snippet.slice(previousEnd))).trim();
}
