// Draws the sessions panel: name, time of last use and task of each session, and the last messages of the chosen one.
import { stripAnsi, type TextRun } from "../../kit/text/ansi.ts";
import { ago } from "../../kit/text/duration.ts";
import { shortId, textOf, type Node } from "../../protocol/tree/node.ts";
import { homeProject, sessionLabel } from "../../protocol/tree/turn.ts";
import type { FoundNode } from "../../protocol/tree/views.ts";
import { cellsOf, fit, plainLine, styled, wrapRuns, type Row } from "../layout/wrap.ts";
import type { OverlayView, OverlayArea } from "./box.ts";
import { panelView } from "./panel.ts";
import { sessionChoices, previewKey, type SessionChoice, type SessionsPanel } from "./sessions.ts";
import { accent, busy, faint, frame, waiting } from "../layout/styles.ts";

const nameColumns = 22;
/** The longest time, "59 minutes ago", and a gap. */
const usedColumns = 16;
/** A narrower list has no room for the time and the task. The preview has the time. */
const minColumnsForAge = 60;
const narrowNameColumns = 14;

export function sessionsView(panel: SessionsPanel, area: OverlayArea): OverlayView {
  const choices = sessionChoices(panel);
  const chosen = choices[panel.index];
  const isSearching = panel.searching !== null && panel.isSlow;
  const emptyText = panel.filter.text === "" ? "no sessions yet; the first message creates one" : "no name, task or message matches";
  return panelView(
    {
      panel,
      title: titleOf(panel, choices.length),
      count: choices.length,
      line: (index, columns) => lineOf(panel, choices[index]!, columns),
      empty: panel.sessions === null || panel.searching !== null ? null : emptyText,
      preview: (columns, rows) => (chosen === undefined ? [] : previewOf(panel, chosen, columns, rows)),
      keys: "",
      typing: { label: isSearching ? "find (searching…)" : "find", line: panel.filter },
    },
    area,
  );
}

function titleOf({ withArchived, everywhere, sessions: listed }: SessionsPanel, count: number): string[] {
  const scope = `${everywhere ? " of all projects" : ""}${withArchived ? ", with archived" : ""}`;
  const title = `sessions${scope}${listed === null ? "" : `: ${count}`}`;
  return [`${title} · Tab archived · Ctrl+T projects`, `${title} · Tab · Ctrl+T`, title];
}

function lineOf(panel: SessionsPanel, { session, hit }: SessionChoice, columns: number): Row {
  const mark = session.id === panel.currentSession ? "← " : session.archivedAt === null ? "  " : "× ";
  const isNarrow = columns < minColumnsForAge;
  const nameWidth = isNarrow ? narrowNameColumns : nameColumns;
  const name = fit(plainLine(sessionLabel(session), nameWidth), nameWidth);
  const used = isNarrow ? "" : ago(panel.now - session.updatedAt).padEnd(usedColumns);
  const summary: Row = hit === null ? [styled(plainLine(session.latestPrompt ?? session.task ?? "", 300))] : snippetOf(hit);
  const project =
    panel.everywhere && homeProject(session) !== panel.project
      ? [styled(`${stripAnsi(homeProject(session)).split("/").at(-1) ?? ""}  `, frame)]
      : [];
  return [
    styled(mark, waiting),
    styled(name + " ".repeat(Math.max(0, nameWidth - cellsOf(name)) + 2), session.archivedAt === null ? { bold: true } : faint),
    styled(used, faint),
    ...project,
    ...summary,
  ];
}

/** The snippet of a matching message, with the matches highlighted. */
function snippetOf({ snippet, marks }: FoundNode): TextRun[] {
  const flat = (text: string) => stripAnsi(text).replace(/\s+/g, " ");
  const runs: TextRun[] = [];
  let offset = 0;
  for (const [start, end] of marks) {
    runs.push(styled(flat(snippet.slice(offset, start)), faint), styled(flat(snippet.slice(start, end)), busy));
    offset = end;
  }
  return [...runs, styled(flat(snippet.slice(offset)), faint)].filter(({ text }) => text !== "");
}

/** The end of the conversation, as much as fits. */
function previewOf(panel: SessionsPanel, { session }: SessionChoice, columns: number, rows: number): Row[] {
  const lastMessages = panel.previews[previewKey(session)] ?? [];
  const origin = [shortId(session.id), session.agent, ...(session.model === null ? [] : [session.model])];
  const usage = [`used ${ago(panel.now - session.updatedAt)}`, ...(session.archivedAt === null ? [] : ["archived"])];
  const head = wrapRuns([styled(plainLine([...origin, ...usage].join(" · "), 400), faint)], columns);
  const messages = lastMessages.flatMap((node) => messageRows(node, columns));
  if (session.tip === null) return [...head, [styled("no messages yet", faint)]];
  return [...head, ...messages.slice(-Math.max(1, rows - head.length))];
}

const rowsPerMessage = 3;

function messageRows(node: Node, columns: number): Row[] {
  const text = plainLine(textOf(node).slice(0, 2000), 3 * columns);
  const mark = node.author === "user" ? styled("▌ ", accent) : styled("● ", faint);
  return wrapRuns([mark, styled(text)], columns, styled("  ")).slice(0, rowsPerMessage);
}
