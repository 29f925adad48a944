// skein ps: lists the turns of all processes on this machine, in every project. Sub-sessions are below their parents.
import { costText } from "../../../protocol/tree/usage-text.ts";
import { formatElapsed } from "../../../kit/text/duration.ts";
import { oneLine, shortCount } from "../../../kit/text/cut-text.ts";
import type { TurnInfo } from "../../../protocol/api/control.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { indentUnderParents } from "../../../protocol/tree/turn-list.ts";
import { countedTokens } from "../../../protocol/tree/usage.ts";
import type { CommandContext } from "../../parse/command.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

const dayMs = 86_400_000;

export const ps = reportCommand({
  name: "ps",
  summary: "list what is running on this machine, in all projects",
  usage: "[--all] [--json]",
  flags: [{ name: "all", summary: "also list turns that ended in the last 24 hours, and how" }],
  notes: `A turn is running, paused, asking (it waits for an answer: \`skein asks\`) or
interrupted (its process is gone: continue with \`skein run --resume <session>\`).
TOKENS counts the same tokens as --max-tokens. A narrow terminal shows fewer columns.`,
  async report(args, ctx) {
    const all = args.flags["all"] === true;
    const api = await ctx.api();
    const turns = await api.turn.list({ endedSince: all ? Date.now() - dayMs : null });
    const empty = all ? "nothing is running, and nothing ran in the last 24 hours\n" : "nothing is running (--all lists ended turns)\n";
    return { json: turns, text: (style) => (turns.length === 0 ? empty : turnTable(turns, style, ctx)) };
  },
});

function turnTable(turns: readonly TurnInfo[], style: Style, { out, home }: CommandContext): string {
  const table = indentUnderParents(turns).map(({ row, depth }) => columns.map((column) => column.cell(row, { depth, style, home })));
  const visible = visibleColumns(table, out.columns);
  const cells = table.map((line) => visible.map((index) => line[index] as string));
  return tableText(cells, { columns: visible.map((index) => columns[index]!), width: out.columns, paintTitle: style.dim });
}

type CellContext = { depth: number; style: Style; home: string };
type PsColumn = {
  title: string;
  align?: "right";
  /** A narrow terminal drops the columns with the highest number first; 0 always stays. */
  spare: number;
  cell: (info: TurnInfo, cell: CellContext) => string;
};

const columns: readonly PsColumn[] = [
  { title: "SESSION", spare: 0, cell: ({ session }, { depth }) => `${"  ".repeat(depth)}${shortId(session.id)}` },
  { title: "NAME", spare: 1, cell: ({ session }) => oneLine(stripControls(session.name ?? ""), 24) },
  { title: "STATE", spare: 0, cell: (info, { style }) => stateText(info, style) },
  { title: "AGE", align: "right", spare: 0, cell: ({ turn }) => formatElapsed(Date.now() - turn.startedAt) },
  { title: "AGENT", spare: 4, cell: ({ turn }) => stripControls(turn.agent) },
  { title: "ROLE", spare: 2, cell: ({ turn }) => stripControls(turn.role ?? "") },
  { title: "MODEL", spare: 5, cell: ({ turn }) => oneLine(stripControls(turn.model ?? "-"), 32) },
  { title: "STEPS", align: "right", spare: 6, cell: ({ turn }) => String(turn.steps) },
  { title: "TOKENS", align: "right", spare: 3, cell: ({ turn }) => shortCount(countedTokens(turn.usage)) },
  { title: "COST", align: "right", spare: 3, cell: ({ turn }) => costText(turn.costUsd, { isTight: true }) },
  { title: "PROJECT", spare: 7, cell: ({ session }, { home }) => shortPath(stripControls(session.project), home) },
  { title: "TASK", spare: 0, cell: ({ session }) => stripControls(session.task ?? "") },
];

const minTaskWidth = 24;

/** Indices of the columns that are not empty, and as many of them as leave `minTaskWidth` for the task. */
function visibleColumns(lines: readonly string[][], width: number): number[] {
  const last = columns.length - 1;
  const widths = columns.map(({ title }, index) => Math.max(title.length, ...lines.map((line) => Bun.stringWidth(line[index] ?? ""))));
  let visible = columns.map((_, index) => index).filter((index) => index === last || lines.some((line) => line[index] !== ""));
  const widthBeforeTask = () => visible.filter((index) => index !== last).reduce((sum, index) => sum + (widths[index] ?? 0) + 2, 0);
  while (widthBeforeTask() + minTaskWidth > width) {
    const maxSpare = Math.max(...visible.map((index) => columns[index]?.spare ?? 0));
    if (maxSpare === 0) break;
    visible = visible.filter((index) => columns[index]?.spare !== maxSpare);
  }
  return visible;
}

function stateText({ state, turn }: TurnInfo, style: Style): string {
  const paint = { running: style.green, paused: style.yellow, asking: style.yellow, interrupted: style.red, ended: style.dim }[state];
  return paint(state === "ended" ? (turn.status ?? "ended") : state);
}

/** Writes the home directory as ~, and only the last two names of a long path. */
function shortPath(path: string, home: string): string {
  const short = path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  const names = short.split("/");
  return short.length <= 24 || names.length < 4 ? short : `…/${names.slice(-2).join("/")}`;
}
