// A box with a title, as wide as the screen, and what an overlay looks like to it.
import type { TextStyle, TextRun } from "../../kit/text/ansi.ts";
import type { Bindings } from "../keys/bindings.ts";
import { cellsOf } from "../layout/cells.ts";
import { fit, type Row } from "../layout/wrap.ts";
import { frame } from "../layout/styles.ts";

/** What an overlay may fill, and what it must know to tell keys. */
export type OverlayArea = { columns: number; height: number; bindings: Bindings };

export type OverlayView = {
  rows: Row[];
  cursor: { row: number; column: number } | null;
  /** The message is still being typed. */
  isBeside?: true;
};

/** A line of a box; one that is chosen stands out. */
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

/** Exactly so many columns: cut, or filled with blanks; those of a chosen line stand out with it. */
export function padRow(row: Row, columns: number): Row {
  const runs: TextRun[] = [];
  let left = columns;
  for (const { text, style: style } of row) {
    if (left === 0) break;
    const shown = fit(text, left);
    runs.push({ text: shown, style: style });
    left -= cellsOf(shown);
  }
  return left > 0 ? [...runs, { text: " ".repeat(left), style: runs.at(-1)?.style.inverse === true ? selectedStyle : {} }] : runs;
}

/** The first of so many lines around the one that is chosen. */
export function firstInView(count: number, at: number, height: number): number {
  return Math.max(0, Math.min(at - Math.floor(height / 2), count - height));
}

/** So many lines around the one that is chosen; the first of them, too. */
export function windowAround<T>(lines: readonly T[], at: number, height: number): { first: number; shown: readonly T[] } {
  const room = Math.max(1, height);
  const first = firstInView(lines.length, at, room);
  return { first, shown: lines.slice(first, first + room) };
}
