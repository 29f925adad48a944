// skein ps: lists the turns of all processes on this machine and in its fleet, in every project. Sub-sessions are below their parents.
import { homeProject } from "../../../protocol/tree/turn.ts";
import { costText } from "../../../protocol/tree/usage-text.ts";
import { formatElapsed } from "../../../kit/text/duration.ts";
import { oneLine, shortCount } from "../../../kit/text/cut-text.ts";
import type { TurnInfo } from "../../../protocol/api/control.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { stateText } from "../../../protocol/limits/state-text.ts";
import { indentUnderParents, turnTask, type IndentedTurn } from "../../../protocol/tree/turn-list.ts";
import { countedTokens, withSubSessions } from "../../../protocol/tree/usage.ts";
import type { CommandContext } from "../../parse/command.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { fittingColumns, itemTable, type DroppableColumn } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

const dayMs = 86_400_000;

export const ps = reportCommand({
  name: "ps",
  summary: "list what is running on this machine and in its fleet, in all projects",
  usage: "[--all] [--json]",
  surplusHint: "`skein logs <session>` shows what happened in one, `skein attach <session>` follows it",
  flags: [{ name: "all", summary: "also list turns that ended in the last 24 hours, with their status" }],
  notes: `A turn is running, paused, asking (it waits for an answer: \`skein asks\`) or
interrupted (its process is gone: continue with \`skein run --resume <session>\`).
A turn that has not started is queued: \`skein kill <turn>\` withdraws it. A waiting
turn continues when the limit of its vendor is reset: \`skein kill <session>\` ends
the wait. A blocked turn could not start, for example without a key; the hub tries again.
TOKENS counts the same tokens as --max-tokens. TOKENS and COST include sub-sessions. A narrow terminal shows fewer columns.`,
  async report(args, ctx) {
    const all = args.flags["all"] === true;
    const api = await ctx.api();
    const turns = await api.turn.list({ endedSince: all ? Date.now() - dayMs : null });
    const emptyText = all ? "nothing is running, and nothing ran in the last 24 hours\n" : "nothing is running (--all lists ended turns)\n";
    return {
      json: turns,
      text: (style) => (turns.length === 0 ? emptyText : turnTable(turns, style, ctx)),
      remarks: (style) =>
        problemLines(turns)
          .map((line) => `${style.yellow("blocked:")} ${line}\n`)
          .join(""),
    };
  },
});

function problemLines(turns: readonly TurnInfo[]): string[] {
  return turns.flatMap(({ pending }) =>
    pending?.problem == null ? [] : [`turn ${shortId(pending.id)}: ${stripControls(pending.problem)}`],
  );
}

function turnTable(turns: readonly TurnInfo[], style: Style, { out, home }: CommandContext): string {
  const columns: DroppableColumn<IndentedTurn>[] = [
    { title: "SESSION", dropOrder: 0, cell: ({ row, depth }) => `${"  ".repeat(depth)}${shortId(row.session.id)}` },
    { title: "NAME", dropOrder: 1, cell: ({ row }) => oneLine(stripControls(row.session.name ?? ""), 24) },
    {
      title: "STATE",
      dropOrder: 0,
      cell: ({ row }) => style[row.retryAt === undefined ? paints[row.state] : "yellow"](stateText(row, Date.now())),
    },
    { title: "MACHINE", dropOrder: 1, cell: ({ row }) => oneLine(stripControls(row.machine ?? ""), 24) },
    { title: "AGE", align: "right", dropOrder: 0, cell: ({ row }) => formatElapsed(Date.now() - row.turn.startedAt) },
    { title: "AGENT", dropOrder: 4, cell: ({ row }) => stripControls(row.turn.agent) },
    { title: "ROLE", dropOrder: 2, cell: ({ row }) => stripControls(row.turn.role ?? "") },
    { title: "MODEL", dropOrder: 5, cell: ({ row }) => oneLine(stripControls(row.turn.model ?? "-"), 32) },
    { title: "STEPS", align: "right", dropOrder: 6, cell: ({ row }) => String(row.turn.steps) },
    { title: "TOKENS", align: "right", dropOrder: 3, cell: ({ row }) => shortCount(countedTokens(withSubSessions(row.turn).usage)) },
    { title: "COST", align: "right", dropOrder: 3, cell: ({ row }) => costText(withSubSessions(row.turn), { isTight: true }) },
    { title: "PROJECT", dropOrder: 7, cell: ({ row }) => shortPath(stripControls(homeProject(row.session)), home) },
    { title: "TASK", dropOrder: 0, cell: ({ row }) => oneLine(stripControls(turnTask(row)), 200) },
  ];
  const rows = indentUnderParents(turns);
  return itemTable(rows, fittingColumns(columns, rows, out.columns), { width: out.columns, paintTitle: style.dim });
}

const paints = {
  running: "green",
  paused: "yellow",
  asking: "yellow",
  waiting: "yellow",
  queued: "cyan",
  interrupted: "red",
  ended: "dim",
} as const;

/** Writes the home directory as ~, and only the last two names of a long path. */
function shortPath(path: string, home: string): string {
  const short = path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  const names = short.split("/");
  return short.length <= 24 || names.length < 4 ? short : `…/${names.slice(-2).join("/")}`;
}
