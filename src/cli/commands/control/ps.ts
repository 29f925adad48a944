// skein ps: what runs on this machine, in every project and whoever started it; sub-sessions below their parents.
import { formatDuration } from "../../../kit/text/duration.ts";
import { oneLine, shortCount } from "../../../kit/text/cut-text.ts";
import type { TurnInfo } from "../../../protocol/api/control.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { turnInfoRecord } from "../../../protocol/json/records.ts";
import { indentUnderParents } from "../../../protocol/tree/turn-list.ts";
import { countedTokens } from "../../../protocol/tree/usage.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { stripControls, styleOf, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { jsonText } from "../../print/json.ts";

export const ps: Command = {
  name: "ps",
  summary: "what runs on this machine, in all projects",
  usage: "[--all] [--json]",
  positionals: { min: 0, max: 0 },
  flags: [{ name: "all", summary: "also what ended in the last 24 hours, and how" }, jsonFlag],
  notes: `A turn is running, paused, asking (it waits for an answer: \`skein asks\`) or
interrupted (its process is gone: \`skein run --resume <session>\` goes on).
Tokens are those that --max-tokens counts. A narrow terminal shows fewer columns.`,
  run: runPs,
};

const dayMs = 86_400_000;

async function runPs(args: Args, ctx: CommandContext): Promise<number> {
  const all = args.flags["all"] === true;
  const api = await ctx.api();
  const rows = await api.turn.list({ endedSince: all ? Date.now() - dayMs : null });
  if (args.flags["json"]) {
    ctx.out.write(jsonText(rows.map(turnInfoRecord)));
    return 0;
  }
  if (rows.length === 0) {
    ctx.out.write(all ? "nothing runs, and nothing ran in the last 24 hours\n" : "nothing runs (--all shows what has ended)\n");
    return 0;
  }
  const style = styleOf(ctx.out);
  const table = indentUnderParents(rows).map(({ row, depth }) =>
    columns.map((column) => column.cell(row, { depth, style, home: ctx.home })),
  );
  const shown = fitting(table, ctx.out.columns);
  const cells = table.map((line) => shown.map((at) => line[at] as string));
  ctx.out.write(tableText(cells, { columns: shown.map((at) => columns[at]!), width: ctx.out.columns, paintTitle: style.dim }));
  return 0;
}

type Cell = { depth: number; style: Style; home: string };
type PsColumn = {
  title: string;
  align?: "right";
  /** In a narrow terminal the highest goes first. */
  spare: number;
  cell: (row: TurnInfo, look: Cell) => string;
};

const columns: readonly PsColumn[] = [
  { title: "SESSION", spare: 0, cell: ({ session }, { depth }) => `${"  ".repeat(depth)}${shortId(session.id)}` },
  { title: "NAME", spare: 1, cell: ({ session }) => oneLine(stripControls(session.name ?? ""), 24) },
  { title: "STATE", spare: 0, cell: (row, { style }) => stateText(row, style) },
  { title: "AGE", align: "right", spare: 0, cell: ({ turn }) => ageText(turn.startedAt) },
  { title: "AGENT", spare: 4, cell: ({ turn }) => stripControls(turn.agent) },
  { title: "ROLE", spare: 2, cell: ({ turn }) => stripControls(turn.role ?? "") },
  { title: "MODEL", spare: 5, cell: ({ turn }) => oneLine(stripControls(turn.model ?? "-"), 32) },
  { title: "STEPS", align: "right", spare: 6, cell: ({ turn }) => String(turn.steps) },
  { title: "TOKENS", align: "right", spare: 3, cell: ({ turn }) => shortCount(countedTokens(turn.usage)) },
  { title: "COST", align: "right", spare: 3, cell: ({ turn }) => (turn.costUsd === null ? "?" : `$${turn.costUsd.toFixed(4)}`) },
  { title: "PROJECT", spare: 7, cell: ({ session }, { home }) => shortPath(stripControls(session.project), home) },
  { title: "TASK", spare: 0, cell: ({ session }) => stripControls(session.task ?? "") },
];

const taskRoom = 24;

/** Which columns are shown: those that say something, and of them as many as leave room for the task. */
function fitting(lines: readonly string[][], width: number): number[] {
  const last = columns.length - 1;
  const wide = columns.map(({ title }, at) => Math.max(title.length, ...lines.map((line) => Bun.stringWidth(line[at] ?? ""))));
  let shown = columns.map((_, at) => at).filter((at) => at === last || lines.some((line) => line[at] !== ""));
  const before = () => shown.filter((at) => at !== last).reduce((sum, at) => sum + (wide[at] ?? 0) + 2, 0);
  while (before() + taskRoom > width) {
    const most = Math.max(...shown.map((at) => columns[at]?.spare ?? 0));
    if (most === 0) break;
    shown = shown.filter((at) => columns[at]?.spare !== most);
  }
  return shown;
}

function stateText({ state, turn }: TurnInfo, style: Style): string {
  const paint = { running: style.green, paused: style.yellow, asking: style.yellow, interrupted: style.red, ended: style.dim }[state];
  return paint(state === "ended" ? (turn.status ?? "ended") : state);
}

function ageText(startedAt: number): string {
  const ms = Math.max(0, Date.now() - startedAt);
  return ms < 60_000 ? `${Math.floor(ms / 1000)} s` : formatDuration(ms);
}

/** The home as ~, and of a long path its last two names. */
function shortPath(path: string, home: string): string {
  const short = path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  const names = short.split("/");
  return short.length <= 24 || names.length < 4 ? short : `…/${names.slice(-2).join("/")}`;
}
