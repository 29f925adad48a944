// Draws a box with a title in the full width of the screen. Also the types that every overlay shares.
import type { TextStyle, TextRun } from "../../kit/text/ansi.ts";
import type { Bindings } from "../keys/bindings.ts";
import { cellsOf } from "../layout/cells.ts";
import { fit, type Row } from "../layout/wrap.ts";
import { frame } from "../layout/styles.ts";

/** The area that an overlay may fill, and the key bindings for its hints. */
export type OverlayArea = { columns: number; height: number; bindings: Bindings };

export type OverlayView = {
  rows: Row[];
  cursor: { row: number; column: number } | null;
  /** The prompt keeps the cursor: the user is typing a message. */
  keepsPromptCursor?: true;
};

export type BoxLine = string | TextRun | Row;

export const selectedStyle: TextStyle = { inverse: true };

export function drawBox(title: string, lines: readonly BoxLine[], columns: number): Row[] {
  const inner = Math.max(1, columns - 4);
  const head = fit(` ${title} `, inner);
  const row = (line: BoxLine): Row => [{ text: "│ ", style: frame }, ...padRow(runsOf(line), inner), { text: " │", style: frame }];
  return [
    [{ text: `┌─${head}${"─".repeat(Math.max(0, columns - cellsOf(head) - 3))}┐`, style: frame }],
    ...lines.map(row),
    [{ text: `└${"─".repeat(Math.max(0, columns - 2))}┘`, style: frame }],
  ];
}

function runsOf(line: BoxLine): Row {
  if (typeof line === "string") return [{ text: line, style: {} }];
  return "text" in line ? [line] : line;
}

/** Cuts or pads a row to exactly `columns`. The padding of a chosen line is highlighted too. */
export function padRow(row: Row, columns: number): Row {
  const runs: TextRun[] = [];
  let remaining = columns;
  for (const { text, style } of row) {
    if (remaining === 0) break;
    const visible = fit(text, remaining);
    runs.push({ text: visible, style });
    remaining -= cellsOf(visible);
  }
  return remaining > 0 ? [...runs, { text: " ".repeat(remaining), style: runs.at(-1)?.style.inverse === true ? selectedStyle : {} }] : runs;
}

/** Index of the first visible line, if `height` lines around `index` are visible. */
export function firstInView(count: number, index: number, height: number): number {
  return Math.max(0, Math.min(index - Math.floor(height / 2), count - height));
}

/** The visible lines around `index`, and the index of the first of them. */
export function windowAround<T>(lines: readonly T[], index: number, height: number): { first: number; visible: readonly T[] } {
  const count = Math.max(1, height);
  const first = firstInView(lines.length, index, count);
  return { first, visible: lines.slice(first, first + count) };
}
