// Draws the tree panel: a line per message with the sessions at their tips, and the chosen message in full.
import type { TextRun } from "../../kit/text/ansi.ts";
import { ago } from "../../kit/text/duration.ts";
import { pluralize, oneLine } from "../../kit/text/cut-text.ts";
import { shortId, textOf } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { cellsOf, cellsOfRow, fit, plainLine, styled, wrapRuns, type Row } from "../layout/wrap.ts";
import { faint, frame, good, heading, waiting } from "../layout/styles.ts";
import { costText, tokensText } from "../../protocol/tree/usage-text.ts";
import type { OverlayView, OverlayArea } from "./box.ts";
import { panelView, proseRows } from "./panel.ts";
import { branchCount, rowKey, rowText, type TreeRow } from "./tree-outline.ts";
import { chosenRow, type TreePanel } from "./tree.ts";

const keys = "Enter go · f fork · d diff · p graft · r rename · u undo · x archive · Esc";
const labels = { fork: "name of the fork (optional)", rename: "new name", filter: "only lines with" };

export function treeView(panel: TreePanel, area: OverlayArea): OverlayView {
  const { prompt, visible, outline } = panel;
  return panelView(
    {
      panel,
      title: titleOf(panel),
      count: visible.length,
      line: (index, columns) => lineOf(panel, visible[index] ?? 0, columns),
      empty: outline === null ? null : panel.filter === "" ? "no messages yet" : "no matching line",
      preview: (columns) => previewOf(panel, columns),
      keys,
      typing: prompt === null ? null : { label: labels[prompt.kind], line: prompt.line },
    },
    area,
  );
}

function titleOf({ outline, filter }: TreePanel): string {
  if (outline === null) return "tree";
  const branches = branchCount(outline);
  const size = `${pluralize(outline.rows.length, "line")}${branches > 1 ? `, ${branches} branches` : ""}`;
  return filter === "" ? `tree: ${size}` : `tree: ${size}, lines with "${oneLine(filter, 30)}"`;
}

const marks = { user: "○", agent: "●", tool: "▸", note: "·" };

function lineOf(panel: TreePanel, index: number, columns: number): Row {
  const row = panel.outline!.rows[index]!;
  const tail = tailOf(panel, row, index);
  const lead = panel.filter === "" ? row.lead : "";
  const width = columns - cellsOf(lead) - 2 - cellsOfRow(tail);
  const style = row.node?.author === "user" ? { bold: true } : row.node?.author === "agent" ? {} : faint;
  const text = fit(rowText(row), Math.max(12, width));
  return [styled(lead, faint), styled(`${row.node === null ? "◌" : marks[row.node.author]} ${text}`, style), ...tail];
}

/** The end of a line: folded rows, calls, and the sessions at this tip. */
function tailOf(panel: TreePanel, row: TreeRow, index: number): TextRun[] {
  const branch = panel.outline!.branches[row.branch]!;
  const isFolded = panel.filter === "" && branch.head === index && panel.folded.has(rowKey(row));
  const calls = row.calls === 0 ? [] : [styled(` ${pluralize(row.calls, "call")}`, faint)];
  return [
    ...(isFolded ? [styled(` +${branch.end - index - 1} folded`, frame)] : calls),
    ...row.sessions.map((session) => styled(` ${labelOf(panel, session)}`, panel.states[session.id] === undefined ? good : waiting)),
    ...(panel.compared?.key === rowKey(row) ? [styled(" ≠ with?", heading)] : []),
  ];
}

function labelOf({ states, currentSession }: TreePanel, session: Session): string {
  const state = states[session.id];
  const name = plainLine(session.name ?? shortId(session.id), 24);
  return `[${name}${state === undefined ? "" : ` · ${state}`}]${session.id === currentSession ? " ← here" : ""}`;
}

function previewOf(panel: TreePanel, columns: number): Row[] {
  const row = chosenRow(panel);
  if (row === undefined) return [];
  if (row.node === null) return wrapRuns([styled("Before the first message. Going there starts a new branch.", faint)], columns);
  const { node } = row;
  const turn = node.turn === null ? undefined : panel.outline?.turns.get(node.turn);
  const author = node.author === "user" ? "you" : node.author === "agent" ? (turn?.agent ?? "agent") : node.author;
  const figures = node.usage === undefined ? [] : [tokensText(node.usage), costText({ ...node, costUsd: node.costUsd ?? null })];
  const head = [shortId(node.id), author, ...(node.model === undefined ? [] : [node.model]), ago(panel.now - node.at), ...figures];
  const text = textOf(node);
  const body = text.trim() === "" ? wrapRuns([styled(rowText(row), faint)], columns) : proseRows(text, columns);
  return [...wrapRuns([styled(head.join(" · "), faint)], columns), ...body];
}
