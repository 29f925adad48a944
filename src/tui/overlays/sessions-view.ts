// How the sessions to choose from look: name, when it was used and what it is about, and the last messages of the chosen one.
import { stripAnsi, type TextRun } from "../../kit/text/ansi.ts";
import { ago } from "../../kit/text/duration.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { shortId, textOf, type Node } from "../../protocol/tree/node.ts";
import type { FoundNode } from "../../protocol/tree/views.ts";
import { cellsOf } from "../layout/cells.ts";
import { fit, wrapRuns, type Row } from "../layout/wrap.ts";
import type { OverlayView, OverlayArea } from "./box.ts";
import { panelView } from "./panel.ts";
import { sessionChoices, previewKey, type SessionChoice, type SessionsPanel } from "./sessions.ts";
import { accent, busy, faint, frame, waiting } from "../layout/styles.ts";

const nameColumns = 22;

export function sessionsView(panel: SessionsPanel, room: OverlayArea): OverlayView {
  const shown = sessionChoices(panel);
  const chosen = shown[panel.at];
  const isAsking = panel.searching !== null && panel.isSlow;
  return panelView(
    {
      title: titleOf(panel, shown.length),
      count: shown.length,
      at: panel.at,
      line: (at, columns) => lineOf(panel, shown[at]!, columns),
      empty:
        panel.listed === null || panel.searching !== null
          ? panel.isSlow
            ? "looking…"
            : ""
          : panel.filter.text === ""
            ? "no session yet: the first message begins one"
            : "nothing like that, neither in names and tasks nor in what was said",
      preview: (columns, rows) => (chosen === undefined ? [] : previewOf(panel, chosen, columns, rows)),
      keys: "",
      typing: { label: isAsking ? "find (looking…)" : "find", line: panel.filter },
    },
    room,
  );
}

function titleOf({ withArchived, everywhere, listed }: SessionsPanel, count: number): string {
  const which = `${everywhere ? " of all projects" : ""}${withArchived ? ", archived too" : ""}`;
  return `sessions${which}${listed === null ? "" : `: ${count}`} · Tab archived · Ctrl+T projects`;
}

function lineOf(panel: SessionsPanel, { session, hit }: SessionChoice, columns: number): Row {
  const mark = session.id === panel.here ? "← " : session.archivedAt === null ? "  " : "× ";
  const name = fit(oneLine(stripAnsi(session.name ?? shortId(session.id)), nameColumns), nameColumns);
  const used = ago(panel.now - session.updatedAt).padEnd(14);
  const about: Row = hit === null ? [{ text: oneLine(stripAnsi(session.task ?? ""), 300), style: {} }] : snippetOf(hit);
  const where =
    panel.everywhere && session.project !== panel.project
      ? [{ text: `${stripAnsi(session.project).split("/").at(-1) ?? ""}  `, style: frame }]
      : [];
  return [
    { text: mark, style: waiting },
    {
      text: name + " ".repeat(Math.max(0, Math.min(nameColumns, columns) - cellsOf(name)) + 2),
      style: session.archivedAt === null ? { bold: true } : faint,
    },
    { text: used, style: faint },
    ...where,
    ...about,
  ];
}

/** What was found, with the words that were looked for. */
function snippetOf({ snippet, marks }: FoundNode): TextRun[] {
  const flat = (text: string) => stripAnsi(text).replace(/\s+/g, " ");
  const runs: TextRun[] = [];
  let from = 0;
  for (const [start, end] of marks) {
    runs.push({ text: flat(snippet.slice(from, start)), style: faint }, { text: flat(snippet.slice(start, end)), style: busy });
    from = end;
  }
  return [...runs, { text: flat(snippet.slice(from)), style: faint }].filter(({ text }) => text !== "");
}

/** Of what was said the end, as far as there is room. */
function previewOf(panel: SessionsPanel, { session }: SessionChoice, columns: number, rows: number): Row[] {
  const last = panel.previews[previewKey(session)] ?? [];
  const who = [shortId(session.id), session.agent, ...(session.model === null ? [] : [session.model])];
  const when = [`used ${ago(panel.now - session.updatedAt)}`, ...(session.archivedAt === null ? [] : ["archived"])];
  const head = wrapRuns([{ text: oneLine(stripAnsi([...who, ...when].join(" · ")), 400), style: faint }], columns);
  const said = last.flatMap((node) => saidRows(node, columns));
  if (session.tip === null) return [...head, [{ text: "nothing was said in it yet", style: faint }]];
  return [...head, ...said.slice(-Math.max(1, rows - head.length))];
}

const rowsOfEach = 3;

function saidRows(node: Node, columns: number): Row[] {
  const isUser = node.author === "user";
  const text = oneLine(stripAnsi(textOf(node).slice(0, 2000)), 3 * columns);
  const hang = { text: "  ", style: {} };
  return wrapRuns(
    [
      { text: isUser ? "▌ " : "● ", style: isUser ? accent : faint },
      { text, style: {} },
    ],
    columns,
    hang,
  ).slice(0, rowsOfEach);
}
