// Lays out a prompt and its text in the columns of a terminal: the rows, and the cursor among them.
// Wide characters and long lines wrap as a terminal wraps them.
import { segmentsOf } from "./cut-text.ts";
import type { EditLine } from "./line-edit.ts";

export type TextLayout = { rows: string[]; cursor: CursorPosition };

type CursorPosition = { row: number; column: number };

/** A position of the cursor in the text, and on the screen. */
type CursorStop = { offset: number; position: CursorPosition };

/** The rows of `prompt` and text. Later lines of the text are indented by the width of the prompt. */
export function layOutText(prompt: string, line: EditLine, columns: number): TextLayout {
  const { rows, stops } = layOutStops(prompt, line.text, columns);
  return { rows, cursor: (stops.findLast(({ offset }) => offset <= line.cursor) ?? stops[0])!.position };
}

type RowMove = { prompt: string; line: EditLine; columns: number; delta: -1 | 1 };

/** The same column one laid-out row up or down. Null if there is no such row. */
export function moveByRow({ prompt, line, columns, delta }: RowMove): EditLine | null {
  const { stops } = layOutStops(prompt, line.text, columns);
  const from = stops.findLast(({ offset }) => offset <= line.cursor)?.position;
  const inRow = stops.filter(({ position }) => position.row === (from?.row ?? 0) + delta);
  const target = inRow.findLast(({ position }) => position.column <= (from?.column ?? 0)) ?? inRow[0];
  return target === undefined ? null : { text: line.text, cursor: target.offset };
}

/** One stop before each character, and one after the last. */
function layOutStops(prompt: string, text: string, columns: number): { rows: string[]; stops: CursorStop[] } {
  const width = Math.max(2, columns);
  const indent = " ".repeat(Math.min(Bun.stringWidth(prompt), width - 2));
  const rows: string[] = [];
  const stops: CursorStop[] = [];
  let row = prompt;
  let column = Bun.stringWidth(prompt);
  const breakRow = (next: string) => {
    rows.push(row);
    row = next;
    column = Bun.stringWidth(next);
  };
  for (const { segment, index } of charactersOf(text)) {
    const isBreak = segment === "\n";
    const printable = segment === "\t" ? "  " : segment.replace(/\p{Cc}/gu, "");
    const cells = Bun.stringWidth(printable);
    if (!isBreak && column + cells > width) breakRow("");
    stops.push({ offset: index, position: { row: rows.length, column } });
    if (isBreak) {
      breakRow(indent);
      continue;
    }
    row += printable;
    column += cells;
  }
  // After a full row the cursor has no column left, so the next row begins here.
  if (column >= width) breakRow("");
  stops.push({ offset: text.length, position: { row: rows.length, column } });
  return { rows: [...rows, row], stops };
}

function charactersOf(text: string): Iterable<{ segment: string; index: number }> {
  return /^[\x20-\x7e]*$/.test(text) ? Array.from(text, (segment, index) => ({ segment, index })) : segmentsOf(text);
}

/** At most `height` rows, with the cursor among them. Rows that scrolled off the terminal can't be painted again. */
export function visiblePart({ rows, cursor }: TextLayout, height: number): TextLayout {
  const maxRows = Math.max(1, height);
  if (rows.length <= maxRows) return { rows, cursor };
  const first = Math.min(Math.max(0, cursor.row - maxRows + 1), rows.length - maxRows);
  return { rows: rows.slice(first, first + maxRows), cursor: { row: cursor.row - first, column: cursor.column } };
}
