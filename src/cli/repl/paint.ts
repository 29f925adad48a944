// Where a text with its prompt stands on a terminal: rows, and the cursor among them; and the bytes that bring
// the terminal from what it shows to that. Pure; wide characters and long lines wrap as the terminal wraps them.
import type { Line } from "./edit.ts";

export type Layout = { rows: string[]; cursor: { row: number; column: number } };

/** The rows of `prompt` + text; following rows of a text of several lines are indented as far as the prompt. */
export function layOut(prompt: string, line: Line, columns: number): Layout {
  const width = Math.max(2, columns);
  const indent = " ".repeat(Math.min(Bun.stringWidth(prompt), width - 2));
  const rows: string[] = [];
  let row = prompt;
  let column = Bun.stringWidth(prompt);
  let cursor = { row: 0, column };
  let at = 0;
  const breakRow = (next: string) => {
    rows.push(row);
    row = next;
    column = Bun.stringWidth(next);
  };
  for (const { segment } of segmenter.segment(line.text)) {
    if (at === line.cursor) cursor = { row: rows.length, column };
    at += segment.length;
    if (segment === "\n") {
      breakRow(indent);
      continue;
    }
    const shown = segment === "\t" ? "  " : segment.replace(/\p{Cc}/gu, "");
    const wide = Bun.stringWidth(shown);
    if (column + wide > width) {
      if (at - segment.length === line.cursor) cursor = { row: rows.length + 1, column: 0 };
      breakRow("");
    }
    row += shown;
    column += wide;
  }
  // A full row leaves the cursor in no column: the next row begins here.
  if (column >= width) breakRow("");
  if (line.cursor >= at) cursor = { row: rows.length, column };
  return { rows: [...rows, row], cursor };
}

const segmenter = new Intl.Segmenter();

/** At most `height` rows, those around the cursor: what scrolled away can't be painted again. */
export function inView({ rows, cursor }: Layout, height: number): Layout {
  const most = Math.max(1, height);
  if (rows.length <= most) return { rows, cursor };
  const first = Math.min(Math.max(0, cursor.row - most + 1), rows.length - most);
  return { rows: rows.slice(first, first + most), cursor: { row: cursor.row - first, column: cursor.column } };
}

/** From the cursor of what is shown (null: a fresh row) to the new layout. */
export function repaint(shown: Layout | null, next: Layout): string {
  const up = shown === null || shown.cursor.row === 0 ? "" : `\x1b[${shown.cursor.row}A`;
  const back = next.rows.length - 1 - next.cursor.row;
  return `${up}\r\x1b[J${next.rows.join("\r\n")}${back > 0 ? `\x1b[${back}A` : ""}\r${next.cursor.column > 0 ? `\x1b[${next.cursor.column}C` : ""}`;
}

/** Leaves what is shown, with the cursor on a row of its own below it. */
export function below(shown: Layout): string {
  const down = shown.rows.length - 1 - shown.cursor.row;
  return `${down > 0 ? `\x1b[${down}B` : ""}\r\n`;
}

/** What is shown as it stands after the terminal changed its width: it has wrapped each row by itself. */
export function rewrapped({ rows, cursor }: Layout, columns: number): Layout {
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
