// Measures, cuts and wraps styled text in terminal cells. Wide characters count with their real width.
// Removes characters that must not be printed: those without width, those that change the writing direction, and those
// that move the cursor.
import { stripAnsi, type TextStyle, type TextRun } from "../../kit/text/ansi.ts";
import { oneLine, segmentsOf } from "../../kit/text/cut-text.ts";

export type Row = readonly TextRun[];

type Piece = { text: string; cells: number; style: TextStyle };
/** Letters of any styles without a space between them, spaces, or a line break. Not broken if it fits in a row. */
type Word = { pieces: Piece[]; cells: number; kind: "letters" | "blank" | "break" };

/** Rows after the first start with `hang`, for example spaces. A line break in a run starts a new row. */
export function wrapRuns(runs: Row, columns: number, hang: TextRun = noHang): Row[] {
  const width = Math.max(2, columns);
  const indent = cellsOf(hang.text) <= width - 2 ? hang : noHang;
  const indentCells = cellsOf(indent.text);
  const rows: Row[] = [];
  let row: TextRun[] = [];
  let used = 0;
  const breakRow = (start: TextRun) => {
    rows.push(row);
    row = start.text === "" ? [] : [start];
    used = cellsOf(start.text);
  };
  const append = ({ text, cells, style }: Piece) => {
    const last = row.at(-1);
    if (last !== undefined && last.style === style) row[row.length - 1] = styled(last.text + text, style);
    else row.push({ text, style });
    used += cells;
  };
  for (const word of wordsOf(runs)) {
    if (word.kind === "break") breakRow(noHang);
    else if (used + word.cells <= width) word.pieces.forEach(append);
    else if (word.kind === "blank") breakRow(indent);
    else {
      if (used > indentCells && word.cells <= width - indentCells) breakRow(indent);
      for (const piece of word.cells <= width - used
        ? word.pieces
        : word.pieces.flatMap(({ text, style }) => clustersOf(text).map((cluster) => ({ ...cluster, style })))) {
        if (used + piece.cells > width) breakRow(indent);
        append(piece);
      }
    }
  }
  return [...rows, row];
}

const plain: TextStyle = {};
const noHang: TextRun = { text: "", style: plain };

/** A run of text. Unstyled runs share one style, so that unchanged rows are recognised. */
export function styled(text: string, style: TextStyle = plain): TextRun {
  return { text, style };
}

export function blanks(count: number): TextRun {
  return styled(" ".repeat(count));
}

function wordsOf(runs: Row): Word[] {
  const words: Word[] = [];
  for (const { text, style } of runs)
    for (const word of printableText(text).match(/\n|[^\S\n]+|\S+/g) ?? []) {
      const kind = word === "\n" ? "break" : /^\s/.test(word) ? "blank" : "letters";
      const piece = { text: word, cells: cellsOf(word), style };
      const last = words.at(-1);
      if (kind === "letters" && last?.kind === kind) {
        last.pieces.push(piece);
        last.cells += piece.cells;
      } else words.push({ pieces: [piece], cells: piece.cells, kind });
    }
  return words;
}

/** Cuts a text to at most `cells`, with an ellipsis at the end. */
export function fit(text: string, cells: number): string {
  // Only the part that can be visible is processed. A cluster rarely has more than a few UTF-16 units.
  const line = printableText(text.length > cells * 16 + 64 ? text.slice(0, cells * 16 + 64) : text).replaceAll("\n", " ");
  if (cellsOf(line) <= cells) return line;
  let result = "";
  let used = 0;
  for (const cluster of clustersOf(line)) {
    used += cluster.cells;
    if (used > cells - 1) break;
    result += cluster.text;
  }
  return cells > 0 ? `${result}…` : "";
}

/** The text on one line of at most `maxChars`, without control characters. */
export function plainLine(text: string, maxChars: number): string {
  return oneLine(stripAnsi(text), maxChars);
}

const scannedChars = 4000;
const maxShortChars = 400;

/** The beginning of a text, or its last line, on one line. */
export function shortText(text: string, part: "beginning" | "last line" = "beginning"): string {
  const scanned = stripAnsi(part === "beginning" ? text.slice(0, scannedChars) : text.slice(-scannedChars)).trim();
  return oneLine(part === "beginning" ? scanned : (scanned.split("\n").at(-1) ?? ""), maxShortChars);
}

/** Cuts the runs to one row of `columns`. */
export function oneRow(runs: Row, columns: number): Row {
  const row: TextRun[] = [];
  let remaining = columns;
  for (const { text, style } of runs) {
    const visible = remaining > 0 ? fit(text, remaining) : "";
    if (visible !== "") row.push(styled(visible, style));
    remaining -= cellsOf(visible);
  }
  return row;
}

export function cellsOfRow(row: Row): number {
  return row.reduce((sum, { text }) => sum + cellsOf(text), 0);
}

const hidden =
  /[^\P{Cc}\n\t]|[\u00AD\u061C\u115F\u1160\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\u{E0000}\u{E0001}\u0600-\u0605\u06DD\u070F\u08E2]/gu;
const printableAscii = /^[\x20-\x7e]*$/;
/** A combining mark without a letter would be drawn on the cell to its left. */
const strayMark = /^(?:\p{M}|\u200C|\u200D)+/u;

/** The printable text of a line. Tabs go to the next multiple of four columns. */
export function printableText(line: string): string {
  if (printableAscii.test(line)) return line;
  const clean = line.toWellFormed().replace(hidden, "").replace(strayMark, "");
  return clean.includes("\t") ? expandTabs(clean) : clean;
}

const tabColumns = 4;

function expandTabs(line: string): string {
  const [first = "", ...pieces] = line.split("\t");
  let column = cellsOf(first);
  return pieces.reduce((text, piece) => {
    const blanks = tabColumns - (column % tabColumns);
    column += blanks + cellsOf(piece);
    return text + " ".repeat(blanks) + piece;
  }, first);
}

export function cellsOf(text: string): number {
  return printableAscii.test(text) ? text.length : Bun.stringWidth(text);
}

export function clustersOf(text: string): { text: string; cells: number }[] {
  if (printableAscii.test(text)) return Array.from(text, (letter) => ({ text: letter, cells: 1 }));
  return Array.from(segmentsOf(text), ({ segment }) => ({ text: segment, cells: Bun.stringWidth(segment) }));
}
