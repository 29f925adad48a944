// Draws the agents panel: a table of turns with their tokens and cost, and the task of the chosen turn below it.
import { stripAnsi, type TextStyle } from "../../kit/text/ansi.ts";
import { formatElapsed } from "../../kit/text/duration.ts";
import { pluralize, shortCount } from "../../kit/text/cut-text.ts";
import type { TurnInfo } from "../../protocol/api/control.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { stateText } from "../../protocol/limits/state-text.ts";
import { sessionLabel } from "../../protocol/tree/turn.ts";
import { turnTask, type IndentedTurn } from "../../protocol/tree/turn-list.ts";
import { countedTokens, withSubSessions } from "../../protocol/tree/usage.ts";
import { cellsOf, fit, plainLine, styled, wrapRuns, type Row } from "../layout/wrap.ts";
import { bad, busy, faint, good, waiting } from "../layout/styles.ts";
import { costText, dollarsText, tokensText } from "../../protocol/tree/usage-text.ts";
import { chosenTurn, type AgentsPanel } from "./agents.ts";
import type { OverlayView, OverlayArea } from "./box.ts";
import { panelView } from "./panel.ts";

const keys = "Enter open · s steer · p pause · x stop · a answer · e ended · Esc";

export function agentsView(panel: AgentsPanel, area: OverlayArea): OverlayView {
  const rows = panel.rows ?? [];
  const columns = fitColumns(panel, rows, area.columns - 4);
  const { steering } = panel;
  return panelView(
    {
      panel,
      title: titleOf(panel),
      count: rows.length,
      head: () => (rows.length === 0 ? [] : [[styled(columns.map(({ title, width }) => title.padEnd(width)).join("  "), faint)]]),
      line: (index, width) => lineOf(panel, rows[index]!, { columns, width }),
      empty: panel.rows === null ? null : `no turn runs in this project, and none ended in the last ${spans[panel.since]}`,
      preview: (columns) => previewOf(panel, columns),
      isStacked: true,
      keys,
      typing: steering === null ? null : { label: `to ${shortId(steering.session)}`, line: steering.line },
    },
    area,
  );
}

const spans = { recent: "15 minutes", day: "day" };

function titleOf({ rows, since }: AgentsPanel): string[] {
  if (rows === null) return ["agents"];
  const ended = rows.filter(({ row }) => row.state === "ended").length;
  const counts = `agents: ${rows.length - ended} running, ${ended} ended`;
  return [`${counts} in the last ${spans[since]}`, counts];
}

/** Columns with the highest `dropOrder` are dropped first when the screen is narrow; 0 is never dropped. */
type Column = { title: string; cell: (panel: AgentsPanel, turn: IndentedTurn) => string; dropOrder: number };
type SizedColumn = Column & { width: number };

const turnColumns: readonly Column[] = [
  {
    title: "SESSION",
    dropOrder: 0,
    cell: ({ currentSession }, { row: { session }, depth }) =>
      `${"  ".repeat(Math.min(depth, 6))}${plainLine(sessionLabel(session), 24)}${session.id === currentSession ? " ←" : ""}`,
  },
  { title: "STATE", dropOrder: 0, cell: ({ now }, { row }) => stateText(row, now) },
  { title: "AGE", dropOrder: 3, cell: ({ now }, { row }) => formatElapsed(now - row.turn.startedAt) },
  { title: "AGENT", dropOrder: 4, cell: (_, { row }) => plainLine(row.turn.agent, 16) },
  { title: "ROLE", dropOrder: 3, cell: (_, { row }) => plainLine(row.turn.role ?? "", 20) },
  { title: "MODEL", dropOrder: 5, cell: (_, { row }) => plainLine(row.turn.model ?? "-", 32) },
  { title: "TOKENS", dropOrder: 2, cell: (_, { row }) => shortCount(countedTokens(withSubSessions(row.turn).usage)) },
  { title: "COST", dropOrder: 1, cell: (_, { row }) => costText(withSubSessions(row.turn), { isTight: true }) },
  { title: "LEFT", dropOrder: 1, cell: (_, { row }) => remainingText(row) },
];

const taskColumn: SizedColumn = {
  title: "TASK",
  dropOrder: 0,
  width: 4,
  cell: (_, { row }) => plainLine(turnTask(row), 300),
};
const minTaskWidth = 20;

/** Chooses as many columns as fit beside the task. Omits columns without content. */
function fitColumns(panel: AgentsPanel, rows: readonly IndentedTurn[], availableWidth: number): SizedColumn[] {
  let columns: SizedColumn[] = turnColumns.flatMap((column) => {
    const cells = rows.map((turn) => column.cell(panel, turn));
    return cells.every((cell) => cell === "") ? [] : [{ ...column, width: Math.max(column.title.length, ...cells.map(cellsOf)) }];
  });
  while (columns.reduce((sum, { width }) => sum + width + 2, 0) + minTaskWidth > availableWidth) {
    const highest = Math.max(0, ...columns.map(({ dropOrder }) => dropOrder));
    if (highest === 0) break;
    columns = columns.filter(({ dropOrder }) => dropOrder !== highest);
  }
  return [...columns, taskColumn];
}

const stateStyles: Record<string, TextStyle> = {
  running: good,
  paused: waiting,
  asking: busy,
  interrupted: bad,
};

function lineOf(panel: AgentsPanel, turn: IndentedTurn, table: { columns: readonly SizedColumn[]; width: number }): Row {
  const styleOf = (title: string): TextStyle =>
    title === "STATE" ? (stateStyles[turn.row.state] ?? faint) : turn.row.state === "ended" ? faint : {};
  let remaining = table.width;
  return table.columns.map(({ title, cell, width }) => {
    const text = fit(cell(panel, turn), remaining);
    const padded = `${text}${" ".repeat(Math.max(0, width - cellsOf(text)))}  `;
    remaining = Math.max(0, remaining - cellsOf(padded));
    return styled(padded, styleOf(title));
  });
}

/** The remaining budget of the turn and its sub-sessions. */
function remainingText({ left }: TurnInfo): string {
  const money = left?.costUsd == null ? [] : [dollarsText(left.costUsd, { digits: 2 })];
  const tokens = left?.tokens == null ? [] : [`${shortCount(left.tokens)} tokens`];
  return [...money, ...tokens].join(" ");
}

function previewOf(panel: AgentsPanel, columns: number): Row[] {
  const info = chosenTurn(panel);
  if (info === undefined) return [];
  const { session, turn, pid } = info;
  const policy = `policy ${turn.policy.name}, network ${turn.policy.net}`;
  const origin = [
    shortId(session.id),
    turn.agent,
    ...(turn.role === undefined ? [] : [turn.role]),
    turn.model ?? "no model",
    ...(pid === null ? [] : [`process ${pid}`]),
    policy,
  ];
  const spent = withSubSessions(turn);
  const used = [tokensText(spent.usage), costText(spent), pluralize(turn.steps, "step")];
  const lines = [
    styled(plainLine(origin.join(" · "), 400), faint),
    styled(used.join(" · "), faint),
    ...(turn.error === null ? [] : [styled(stripAnsi(turn.error.message), bad)]),
    styled(stripAnsi(turnTask(info).slice(0, 4000))),
  ];
  return lines.flatMap((run) => wrapRuns([run], columns));
}
