// Where a text with its prompt stands in so many columns: rows, and the cursor among them. Pure; wide characters and
// long lines wrap as a terminal wraps them.
import type { EditLine } from "./line-edit.ts";

export type TextLayout = { rows: string[]; cursor: CursorPosition };

type CursorPosition = { row: number; column: number };

/** The rows of `prompt` + text; following rows of a text of several lines are indented as far as the prompt. */
export function layOutText(prompt: string, line: EditLine, columns: number): TextLayout {
  const { rows, places } = placesOf(prompt, line.text, columns);
  return { rows, cursor: (places.findLast(({ at }) => at <= line.cursor) ?? places[0])!.place };
}

/** The same column one row up or down, as it is laid out; null when there is no such row. */
export function moveByRow({ prompt, line, columns, by }: { prompt: string; line: EditLine; columns: number; by: -1 | 1 }): EditLine | null {
  const { places } = placesOf(prompt, line.text, columns);
  const from = places.findLast(({ at }) => at <= line.cursor)?.place;
  const inRow = places.filter(({ place }) => place.row === (from?.row ?? 0) + by);
  const found = inRow.findLast(({ place }) => place.column <= (from?.column ?? 0)) ?? inRow[0];
  return found === undefined ? null : { text: line.text, cursor: found.at };
}

/** Where the cursor stands before each character, and behind the last. */
function placesOf(prompt: string, text: string, columns: number): { rows: string[]; places: { at: number; place: CursorPosition }[] } {
  const width = Math.max(2, columns);
  const indent = " ".repeat(Math.min(Bun.stringWidth(prompt), width - 2));
  const rows: string[] = [];
  const places: { at: number; place: CursorPosition }[] = [];
  let row = prompt;
  let column = Bun.stringWidth(prompt);
  const breakRow = (next: string) => {
    rows.push(row);
    row = next;
    column = Bun.stringWidth(next);
  };
  for (const { segment, index } of segmenter.segment(text)) {
    const isBreak = segment === "\n";
    const shown = segment === "\t" ? "  " : segment.replace(/\p{Cc}/gu, "");
    const wide = Bun.stringWidth(shown);
    if (!isBreak && column + wide > width) breakRow("");
    places.push({ at: index, place: { row: rows.length, column } });
    if (isBreak) {
      breakRow(indent);
      continue;
    }
    row += shown;
    column += wide;
  }
  // A full row leaves the cursor in no column: the next row begins here.
  if (column >= width) breakRow("");
  places.push({ at: text.length, place: { row: rows.length, column } });
  return { rows: [...rows, row], places };
}

const segmenter = new Intl.Segmenter();

/** At most `height` rows, those around the cursor: what scrolled away can't be painted again. */
export function visiblePart({ rows, cursor }: TextLayout, height: number): TextLayout {
  const most = Math.max(1, height);
  if (rows.length <= most) return { rows, cursor };
  const first = Math.min(Math.max(0, cursor.row - most + 1), rows.length - most);
  return { rows: rows.slice(first, first + most), cursor: { row: cursor.row - first, column: cursor.column } };
}
