// The bytes that bring the terminal from what was painted to what is to be seen: rows printed above, the footer painted
// again below them, or the whole screen on the alternate one. Pure; the same picture costs nothing.
import type { TextStyle } from "../../kit/text/ansi.ts";
import { cellsOf } from "../layout/cells.ts";
import type { Row } from "../layout/wrap.ts";
import type { ScreenFrame } from "../views/screen.ts";

/** What stands in the terminal since it was last painted, and where in it the cursor was left. */
export type PaintedFrame = {
  rows: readonly string[];
  cells: readonly number[];
  at: CursorPosition;
  isCursorShown: boolean;
  isWhole: boolean;
};
type CursorPosition = { row: number; column: number };

export type NextFrame = ScreenFrame & { above: readonly Row[]; isWhole: boolean };

const begin = "\x1b[?2026h\x1b[?25l\x1b[?7l";
const end = "\x1b[?7h\x1b[?2026l";

export function paint(before: PaintedFrame | null, next: NextFrame, color: boolean): { bytes: string; painted: PaintedFrame } {
  const rows = next.rows.map((row) => rowText(row, color));
  const at = next.cursor ?? { row: Math.max(0, rows.length - 1), column: 0 };
  const isCursorShown = next.cursor !== null;
  const painted = { rows, cells: next.rows.map(cellsOfRow), at, isCursorShown, isWhole: next.isWhole };
  const shown = isCursorShown ? "\x1b[?25h" : "";
  const body = next.isWhole
    ? whole(before, rows)
    : footer(
        before,
        next.above.map((row) => rowText(row, color)),
        rows,
      );
  if (body === "" && before?.isCursorShown === isCursorShown && Bun.deepEquals(before.at, at)) return { bytes: "", painted };
  const place = next.isWhole
    ? `\x1b[${at.row + 1};${at.column + 1}H`
    : `${body === "" ? up(before?.at.row ?? 0) : up(rows.length - 1)}\r${down(at.row)}${right(at.column)}`;
  return { bytes: `${begin}${body}${place}${shown}${end}`, painted };
}

function whole(before: PaintedFrame | null, rows: readonly string[]): string {
  const known = before?.isWhole === true ? before.rows : null;
  const changed = rows.map((row, at) => (known?.[at] === row ? "" : `\x1b[${at + 1};1H\x1b[2K${row}`)).join("");
  return known === null ? `\x1b[?1049h\x1b[2J${changed}` : changed;
}

/** Ends with the cursor in the last row. Back from the whole screen the terminal is where the footer was left. */
function footer(before: PaintedFrame | null, above: readonly string[], rows: readonly string[]): string {
  const isSame = before !== null && !before.isWhole && above.length === 0 && Bun.deepEquals(before.rows, rows);
  if (isSame) return "";
  const all = [...above, ...rows];
  // Before the last row and not behind it: at the end of a full one the cursor still stands on its last cell.
  const written = all.map((row, at) => `${at === all.length - 1 ? "\x1b[J" : "\x1b[2K"}${row}`).join("\r\n");
  return `${up(before?.at.row ?? 0)}\r${written}`;
}

/** After the terminal changed its width it has wrapped each row by itself: where the cursor is now. */
export function rewrapFrame(painted: PaintedFrame, columns: number): PaintedFrame {
  const above = painted.cells.slice(0, painted.at.row).reduce((sum, cells) => sum + Math.max(1, Math.ceil(cells / columns)), 0);
  const { column } = painted.at;
  // Nothing that stands there is as it was: all of it is to be painted again.
  return { ...painted, rows: [], at: { row: above + Math.floor(column / columns), column: column % columns } };
}

/** Takes the footer away; what comes next is written where it began. */
export function clearFooter(painted: PaintedFrame | null): string {
  return painted === null ? "" : `${up(painted.at.row)}\r\x1b[J\x1b[?25h`;
}

function cellsOfRow(row: Row): number {
  return row.reduce((sum, { text }) => sum + cellsOf(text), 0);
}

export function rowText(row: Row, color: boolean): string {
  return row.map(({ text, style: style }) => styled(text, codesOf(style, color))).join("");
}

function styled(text: string, codes: number[]): string {
  return codes.length === 0 ? text : `\x1b[${codes.join(";")}m${text}\x1b[0m`;
}

/** The terminal's own sixteen colours, in the form that every terminal knows. */
function codesOf({ color, bold, dim, italic, underline, inverse, strike }: TextStyle, isColored: boolean): number[] {
  const attributes = [bold && 1, dim && 2, italic && 3, underline && 4, inverse && 7, strike && 9].filter(
    (code) => typeof code === "number",
  );
  if (!isColored || typeof color !== "number") return attributes;
  return [...attributes, color < 8 ? 30 + color : 82 + color];
}

const move = (letter: string) => (by: number) => (by > 0 ? `\x1b[${by}${letter}` : "");
const up = move("A");
const down = move("B");
const right = move("C");
