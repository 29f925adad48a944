// Computes the bytes that turn the painted frame into the next one. A frame is the footer below printed rows, or the
// alternate screen. An unchanged frame needs no bytes. Pure.
import type { TextStyle } from "../../kit/text/ansi.ts";
import { cellsOfRow, type Row } from "../layout/wrap.ts";
import type { ScreenFrame } from "../views/screen.ts";

/** The footer or the alternate screen as painted. `cells` has the width of each row, `at` the position of the cursor. */
export type PaintedFrame = {
  rows: readonly string[];
  cells: readonly number[];
  at: { row: number; column: number };
  isCursorVisible: boolean;
};

export type NextFrame = ScreenFrame & { above: readonly Row[]; isFullScreen: boolean };

const beginUpdate = "\x1b[?2026h\x1b[?25l\x1b[?7l";
const endUpdate = "\x1b[?7h\x1b[?2026l";

export function paint(previous: PaintedFrame | null, next: NextFrame, color: boolean): { bytes: string; painted: PaintedFrame } {
  const rows = next.rows.map((row) => rowText(row, color));
  const at = next.cursor ?? { row: Math.max(0, rows.length - 1), column: 0 };
  const isCursorVisible = next.cursor !== null;
  const painted = { rows, cells: next.rows.map(cellsOfRow), at, isCursorVisible };
  const showCursor = isCursorVisible ? "\x1b[?25h" : "";
  const above = next.above.map((row) => rowText(row, color));
  const body = next.isFullScreen ? paintFullScreen(previous, rows) : paintFooter(previous, above, rows);
  if (body === "" && previous?.isCursorVisible === isCursorVisible && Bun.deepEquals(previous.at, at)) return { bytes: "", painted };
  const moveCursor = next.isFullScreen
    ? `\x1b[${at.row + 1};${at.column + 1}H`
    : `${body === "" ? up(previous?.at.row ?? 0) : up(rows.length - 1)}\r${down(at.row)}${right(at.column)}`;
  return { bytes: `${beginUpdate}${body}${moveCursor}${showCursor}${endUpdate}`, painted };
}

function paintFullScreen(previous: PaintedFrame | null, rows: readonly string[]): string {
  const changed = rows.map((row, y) => (previous?.rows[y] === row ? "" : `\x1b[${y + 1};1H\x1b[2K${row}`)).join("");
  return previous === null ? `\x1b[?1049h\x1b[2J${changed}` : changed;
}

/** Ends with the cursor in the last row. After the alternate screen the cursor is back in the footer. */
function paintFooter(previous: PaintedFrame | null, above: readonly string[], rows: readonly string[]): string {
  if (above.length === 0 && Bun.deepEquals(previous?.rows, rows)) return "";
  const allRows = [...above, ...rows];
  // Erase before the last row, not after it: after a full row the cursor is still on its last cell.
  const written = allRows.map((row, y) => `${y === allRows.length - 1 ? "\x1b[J" : "\x1b[2K"}${row}`).join("\r\n");
  return `${up(previous?.at.row ?? 0)}\r${written}`;
}

/** The cursor after a change of width, when the terminal has wrapped each row itself. */
export function rewrapFrame(painted: PaintedFrame, columns: number): PaintedFrame {
  const rowsAbove = painted.cells.slice(0, painted.at.row).reduce((sum, cells) => sum + Math.max(1, Math.ceil(cells / columns)), 0);
  const { column } = painted.at;
  // Without rows, everything is painted again.
  return { ...painted, rows: [], at: { row: rowsAbove + Math.floor(column / columns), column: column % columns } };
}

/** Erases the footer and moves the cursor to its first row. */
export function clearFooter(painted: PaintedFrame | null): string {
  return painted === null ? "" : `${up(painted.at.row)}\r\x1b[J\x1b[?25h`;
}

export function rowText(row: Row, color: boolean): string {
  return row
    .map(({ text, style }) => {
      const codes = codesOf(style, color);
      return codes.length === 0 ? text : `\x1b[${codes.join(";")}m${text}\x1b[0m`;
    })
    .join("");
}

/** SGR codes for the sixteen colours, which every terminal supports. */
function codesOf({ color, bold, dim, italic, underline, inverse, strike }: TextStyle, isColored: boolean): number[] {
  const attributes = [bold && 1, dim && 2, italic && 3, underline && 4, inverse && 7, strike && 9].filter(
    (code) => typeof code === "number",
  );
  if (!isColored || typeof color !== "number") return attributes;
  return [...attributes, color < 8 ? 30 + color : 82 + color];
}

const move = (letter: string) => (count: number) => (count > 0 ? `\x1b[${count}${letter}` : "");
const up = move("A");
const down = move("B");
const right = move("C");
