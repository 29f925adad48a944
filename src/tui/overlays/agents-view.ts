// How what runs looks: a table of turns with what each has used, and the chosen one's task in full below it.
import { stripAnsi, type TextStyle } from "../../kit/text/ansi.ts";
import { formatDuration } from "../../kit/text/duration.ts";
import { pluralize, oneLine, shortCount } from "../../kit/text/cut-text.ts";
import type { TurnInfo } from "../../protocol/api/control.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { IndentedTurn } from "../../protocol/tree/turn-list.ts";
import { countedTokens } from "../../protocol/tree/usage.ts";
import { cellsOf } from "../layout/cells.ts";
import { fit, wrapRuns, type Row } from "../layout/wrap.ts";
import { bad, busy, faint, good, waiting } from "../layout/styles.ts";
import { costText, tokensText } from "../../protocol/tree/usage-text.ts";
import { chosenTurn, type AgentsPanel } from "./agents.ts";
import type { OverlayView, OverlayArea } from "./box.ts";
import { panelView } from "./panel.ts";

const keys = "Enter open · s steer · p pause · x stop · a answer · e ended · Esc";

export function agentsView(panel: AgentsPanel, room: OverlayArea): OverlayView {
  const rows = panel.rows ?? [];
  const shown = columnsIn(panel, rows, room.columns - 4);
  const { steering } = panel;
  return panelView(
    {
      title: titleOf(panel),
      count: rows.length,
      at: panel.at,
      head: () => (rows.length === 0 ? [] : [[{ text: shown.map(({ title, width }) => title.padEnd(width)).join("  "), style: faint }]]),
      line: (at, columns) => lineOf(panel, rows[at]!, shown, columns),
      empty:
        panel.rows !== null
          ? `nothing runs in this project, and nothing ended in the last ${spans[panel.since]}`
          : panel.isSlow
            ? "looking…"
            : "",
      preview: (columns) => previewOf(panel, columns),
      isStacked: true,
      keys,
      typing: steering === null ? null : { label: `to ${shortId(steering.session)}`, line: steering.line },
    },
    room,
  );
}

const spans = { recent: "15 minutes", day: "day" };

function titleOf({ rows, since }: AgentsPanel): string {
  const ended = rows?.filter(({ row }) => row.state === "ended").length ?? 0;
  const counted = rows === null ? "" : `: ${rows.length - ended} running, ${ended} ended in the last ${spans[since]}`;
  return `agents${counted}`;
}

type Column = { title: string; cell: (panel: AgentsPanel, turn: IndentedTurn) => string; spare: number };
type Shown = Column & { width: number };

const table: readonly Column[] = [
  {
    title: "SESSION",
    spare: 0,
    cell: (panel, { row: { session }, depth }) => `${"  ".repeat(Math.min(depth, 6))}${nameIn(panel, session)}`,
  },
  { title: "STATE", spare: 0, cell: (_, { row }) => (row.state === "ended" ? (row.turn.status ?? "ended") : row.state) },
  { title: "AGE", spare: 3, cell: ({ now }, { row }) => ageText(now - row.turn.startedAt) },
  { title: "AGENT", spare: 4, cell: (_, { row }) => oneLine(stripAnsi(row.turn.agent), 16) },
  { title: "MODEL", spare: 5, cell: (_, { row }) => oneLine(stripAnsi(row.turn.model ?? "-"), 32) },
  { title: "TOKENS", spare: 2, cell: (_, { row }) => shortCount(countedTokens(row.turn.usage)) },
  { title: "COST", spare: 1, cell: (_, { row }) => costText(row.turn.costUsd, { isTight: true }) },
  { title: "LEFT", spare: 1, cell: (_, { row }) => leftText(row) },
];

const taskColumns = 20;

/** As many columns as leave room for the task; those that say nothing are left out. */
function columnsIn(panel: AgentsPanel, rows: readonly IndentedTurn[], room: number): Shown[] {
  let shown: Shown[] = table.flatMap((column) => {
    const cells = rows.map((turn) => column.cell(panel, turn));
    return cells.every((cell) => cell === "") ? [] : [{ ...column, width: Math.max(column.title.length, ...cells.map(cellsOf)) }];
  });
  while (shown.reduce((sum, { width }) => sum + width + 2, 0) + taskColumns > room) {
    const most = Math.max(0, ...shown.map(({ spare }) => spare));
    if (most === 0) break;
    shown = shown.filter(({ spare }) => spare !== most);
  }
  const task: Shown = { title: "TASK", spare: 0, width: 4, cell: (_, { row }) => oneLine(stripAnsi(row.session.task ?? ""), 300) };
  return [...shown, task];
}

const looks: Record<string, TextStyle> = {
  running: good,
  paused: waiting,
  asking: busy,
  interrupted: bad,
};

function lineOf(panel: AgentsPanel, turn: IndentedTurn, shown: readonly Shown[], columns: number): Row {
  const style = (title: string): TextStyle =>
    title === "STATE" ? (looks[turn.row.state] ?? faint) : turn.row.state === "ended" ? faint : {};
  let left = columns;
  return shown.map(({ title, cell, width }) => {
    const text = fit(cell(panel, turn), left);
    const padded = `${text}${" ".repeat(Math.max(0, width - cellsOf(text)))}  `;
    left = Math.max(0, left - cellsOf(padded));
    return { text: padded, style: style(title) };
  });
}

function nameIn({ here }: AgentsPanel, session: { id: string; name: string | null }): string {
  return `${oneLine(stripAnsi(session.name ?? shortId(session.id)), 24)}${session.id === here ? " ←" : ""}`;
}

function ageText(ms: number): string {
  return ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : formatDuration(ms);
}

/** What it and all below it may still use. */
function leftText({ left }: TurnInfo): string {
  const money = left?.costUsd == null ? [] : [costText(left.costUsd, { digits: 2 })];
  const tokens = left?.tokens == null ? [] : [`${shortCount(left.tokens)} tokens`];
  return [...money, ...tokens].join(" ");
}

function previewOf(panel: AgentsPanel, columns: number): Row[] {
  const row = chosenTurn(panel);
  if (row === undefined) return [];
  const { session, turn, pid } = row;
  const walls = `policy ${turn.policy.name}, network ${turn.policy.net}`;
  const where = [shortId(session.id), turn.agent, turn.model ?? "no model", ...(pid === null ? [] : [`process ${pid}`]), walls];
  const used = [tokensText(turn.usage), costText(turn.costUsd), pluralize(turn.steps, "step")];
  const lines = [
    { text: oneLine(stripAnsi(where.join(" · ")), 400), style: faint },
    { text: used.join(" · "), style: faint },
    ...(turn.error === null ? [] : [{ text: stripAnsi(turn.error.message), style: bad }]),
    { text: stripAnsi((session.task ?? "").slice(0, 4000)), style: {} },
  ];
  return lines.flatMap((run) => wrapRuns([run], columns));
}
