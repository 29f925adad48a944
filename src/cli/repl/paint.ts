// The bytes that bring a terminal from what it shows to how a text with its prompt is laid out now. Pure.
import type { TextLayout } from "../../kit/text/text-layout.ts";

/** From the cursor of what is shown (null: a fresh row) to the new layout. */
export function repaint(shown: TextLayout | null, next: TextLayout): string {
  const up = shown === null || shown.cursor.row === 0 ? "" : `\x1b[${shown.cursor.row}A`;
  const back = next.rows.length - 1 - next.cursor.row;
  return `${up}\r\x1b[J${next.rows.join("\r\n")}${back > 0 ? `\x1b[${back}A` : ""}\r${next.cursor.column > 0 ? `\x1b[${next.cursor.column}C` : ""}`;
}

/** Leaves what is shown, with the cursor on a row of its own below it. */
export function moveBelow(shown: TextLayout): string {
  const down = shown.rows.length - 1 - shown.cursor.row;
  return `${down > 0 ? `\x1b[${down}B` : ""}\r\n`;
}

/** What is shown as it stands after the terminal changed its width: it has wrapped each row by itself. */
export function rewrapLayout({ rows, cursor }: TextLayout, columns: number): TextLayout {
  const above = rows.slice(0, cursor.row).reduce((sum, row) => sum + Math.max(1, Math.ceil(Bun.stringWidth(row) / columns)), 0);
  return { rows, cursor: { row: above + Math.floor(cursor.column / columns), column: cursor.column % columns } };
}

export function inColumns(words: readonly string[], columns: number): string {
  const wide = Math.max(...words.map((word) => Bun.stringWidth(word))) + 2;
  const perRow = Math.max(1, Math.floor(columns / wide));
  const rows = Array.from({ length: Math.ceil(words.length / perRow) }, (_, at) => words.slice(at * perRow, (at + 1) * perRow));
  const padded = (word: string) => word + " ".repeat(wide - Bun.stringWidth(word));
  return rows.map((row) => row.map(padded).join("").trimEnd()).join("\n");
}
