// Wraps styled text into rows of a given width, at spaces if possible. Wide characters count with their real width.
import { stripAnsi, type TextStyle, type TextRun } from "../../kit/text/ansi.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { cellsOf, clustersOf, printableText } from "./cells.ts";

export type Row = readonly TextRun[];

type Piece = { text: string; cells: number; style: TextStyle };
/** A unit that is not broken if it fits in a row: letters without a space (of any styles), spaces, or a line break. */
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

/** One row of `columns`. The rest is cut. */
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
