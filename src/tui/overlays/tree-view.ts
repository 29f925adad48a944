// How the tree looks: a line for each message with the sessions at their tips, and the chosen one in full.
import { stripAnsi, type TextRun } from "../../kit/text/ansi.ts";
import { ago } from "../../kit/text/duration.ts";
import { pluralize, oneLine } from "../../kit/text/cut-text.ts";
import { shortId, textOf } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { cellsOf } from "../layout/cells.ts";
import { fit, wrapRuns, type Row } from "../layout/wrap.ts";
import { faint, frame, good, heading, waiting } from "../layout/styles.ts";
import { costText, tokensText } from "../../protocol/tree/usage-text.ts";
import type { OverlayView, OverlayArea } from "./box.ts";
import { panelView, proseRows } from "./panel.ts";
import { rowKey, rowText, type TreeRow } from "./tree-outline.ts";
import { chosenRow, type TreePanel } from "./tree.ts";

const keys = "Enter go · f fork · d diff · p graft · r name · x archive · / find · Esc";
const labels = { fork: "name of the fork, or none", rename: "new name", filter: "only lines with" };

export function treeView(panel: TreePanel, room: OverlayArea): OverlayView {
  const { prompt, shown, outline } = panel;
  const parts = {
    count: shown.length,
    at: panel.at,
    keys,
    typing: prompt === null ? null : { label: labels[prompt.wants], line: prompt.line },
  };
  return panelView(
    {
      ...parts,
      title: titleOf(panel),
      line: (at, columns) => lineOf(panel, shown[at] ?? 0, columns),
      empty:
        outline === null ? (panel.isSlow ? "reading the tree…" : "") : panel.filter === "" ? "nothing was said yet" : "nothing like that",
      preview: (columns) => previewOf(panel, columns),
    },
    room,
  );
}

function titleOf({ outline, filter }: TreePanel): string {
  if (outline === null) return "tree";
  const branches = outline.branches.filter(({ head, end }) => end > head).length;
  const size = `${pluralize(outline.rows.length, "line")}${branches > 1 ? `, ${branches} branches` : ""}`;
  return filter === "" ? `tree: ${size}` : `tree: ${size}, those with "${oneLine(filter, 30)}"`;
}

const marks = { user: "○", agent: "●", tool: "▸", note: "·" };

function lineOf(panel: TreePanel, at: number, columns: number): Row {
  const row = panel.outline!.rows[at]!;
  const tail = tailOf(panel, row, at);
  const lead = panel.filter === "" ? row.lead : "";
  const room = columns - cellsOf(lead) - 2 - tail.reduce((sum, run) => sum + cellsOf(run.text), 0);
  const style = row.node?.author === "user" ? { bold: true } : row.node?.author === "agent" ? {} : faint;
  const text = fit(rowText(row), Math.max(12, room));
  return [{ text: lead, style: faint }, { text: `${row.node === null ? "◌" : marks[row.node.author]} ${text}`, style: style }, ...tail];
}

/** What stands behind a line's words: what is folded, the calls, the sessions at their tips. */
function tailOf(panel: TreePanel, row: TreeRow, at: number): TextRun[] {
  const branch = panel.outline!.branches[row.branch]!;
  const isFolded = panel.filter === "" && branch.head === at && panel.folded.has(rowKey(row));
  const calls = row.calls === 0 ? [] : [{ text: ` ${pluralize(row.calls, "call")}`, style: faint }];
  return [
    ...(isFolded ? [{ text: ` +${branch.end - at - 1} folded`, style: frame }] : calls),
    ...row.sessions.map((session) => ({
      text: ` ${labelOf(panel, session)}`,
      style: panel.states[session.id] === undefined ? good : waiting,
    })),
    ...(panel.compared?.key === rowKey(row) ? [{ text: " ≠ with?", style: heading }] : []),
  ];
}

function labelOf({ states, here }: TreePanel, session: Session): string {
  const state = states[session.id];
  const name = oneLine(stripAnsi(session.name ?? shortId(session.id)), 24);
  return `[${name}${state === undefined ? "" : ` · ${state}`}]${session.id === here ? " ← here" : ""}`;
}

function previewOf(panel: TreePanel, columns: number): Row[] {
  const row = chosenRow(panel);
  if (row === undefined) return [];
  if (row.node === null)
    return wrapRuns([{ text: "Before the first message. Going there begins a branch of its own.", style: faint }], columns);
  const { node } = row;
  const turn = node.turn === null ? undefined : panel.outline?.turns.get(node.turn);
  const by = node.author === "user" ? "you" : node.author === "agent" ? (turn?.agent ?? "agent") : node.author;
  const figures = node.usage === undefined ? [] : [tokensText(node.usage), costText(node.costUsd ?? null)];
  const head = [shortId(node.id), by, ...(node.model === undefined ? [] : [node.model]), ago(panel.now - node.at), ...figures];
  const text = textOf(node);
  const body = text.trim() === "" ? wrapRuns([{ text: rowText(row), style: faint }], columns) : proseRows(text, columns);
  return [...wrapRuns([{ text: head.join(" · "), style: faint }], columns), ...body];
}
