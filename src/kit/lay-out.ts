// Where a text with its prompt stands in so many columns: rows, and the cursor among them. Pure; wide characters and
// long lines wrap as a terminal wraps them.
import type { Line } from "./line-edit.ts";

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
