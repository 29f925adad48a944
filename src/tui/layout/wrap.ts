// Runs of text broken into rows of so many columns, at blanks where there are any. Wide characters count for what they take.
import { stripAnsi, type TextStyle, type TextRun } from "../../kit/text/ansi.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { cellsOf, clustersOf, printableText } from "./cells.ts";

export type Row = readonly TextRun[];

type Piece = { text: string; cells: number; style: TextStyle };
/** What is not broken if it fits in a row: letters without a blank between them, of whatever looks, or blanks. */
type Word = { pieces: Piece[]; cells: number; kind: "letters" | "blank" | "break" };

/** Rows after the first begin with `hang`, blanks or a mark of its own. A line break in a run begins a row. */
export function wrapRuns(runs: Row, columns: number, hang: TextRun = noHang): Row[] {
  const width = Math.max(2, columns);
  const indent = cellsOf(hang.text) <= width - 2 ? hang : noHang;
  const indentCells = cellsOf(indent.text);
  const rows: Row[] = [];
  let row: TextRun[] = [];
  let used = 0;
  const breakRow = () => {
    rows.push(row);
    row = indentCells > 0 ? [indent] : [];
    used = indentCells;
  };
  const breakLine = () => {
    rows.push(row);
    row = [];
    used = 0;
  };
  const put = ({ text, cells, style }: Piece) => {
    const last = row.at(-1);
    if (last !== undefined && last.style === style) row[row.length - 1] = { text: last.text + text, style: style };
    else row.push({ text, style: style });
    used += cells;
  };
  for (const word of wordsOf(runs)) {
    if (word.kind === "break") breakLine();
    else if (used + word.cells <= width) word.pieces.forEach(put);
    else if (word.kind === "blank") breakRow();
    else {
      if (used > indentCells && word.cells <= width - indentCells) breakRow();
      for (const piece of word.cells <= width - used ? word.pieces : word.pieces.flatMap(lettersOf)) {
        if (used + piece.cells > width) breakRow();
        put(piece);
      }
    }
  }
  return [...rows, row];
}

const noHang: TextRun = { text: "", style: {} };

export function blanks(count: number): TextRun {
  return { text: " ".repeat(count), style: noHang.style };
}

function wordsOf(runs: Row): Word[] {
  const words: Word[] = [];
  for (const { text, style: style } of runs)
    for (const found of printableText(text).match(/\n|[^\S\n]+|\S+/g) ?? []) {
      const kind = found === "\n" ? "break" : /^\s/.test(found) ? "blank" : "letters";
      const piece = { text: found, cells: cellsOf(found), style };
      const last = words.at(-1);
      if (kind === "letters" && last?.kind === kind) {
        last.pieces.push(piece);
        last.cells += piece.cells;
      } else words.push({ pieces: [piece], cells: piece.cells, kind });
    }
  return words;
}

function lettersOf({ text, style }: Piece): Piece[] {
  return clustersOf(text).map((cluster) => ({ ...cluster, style }));
}

/** At most so many cells; what is longer ends with an ellipsis. */
export function fit(text: string, cells: number): string {
  // What can't be in view is not looked at; a character in view is seldom more than a few units long.
  const looked = printableText(text.length > cells * 16 + 64 ? text.slice(0, cells * 16 + 64) : text).replaceAll("\n", " ");
  if (cellsOf(looked) <= cells) return looked;
  let kept = "";
  let used = 0;
  for (const cluster of clustersOf(looked)) {
    used += cluster.cells;
    if (used > cells - 1) break;
    kept += cluster.text;
  }
  return cells > 0 ? `${kept}…` : "";
}

const lookedAt = 4000;
const shownChars = 400;

/** The beginning of a text on one line, or where it is by now. */
export function shortText(text: string, where: "beginning" | "last line" = "beginning"): string {
  const looked = stripAnsi(where === "beginning" ? text.slice(0, lookedAt) : text.slice(-lookedAt)).trim();
  return oneLine(where === "beginning" ? looked : (looked.split("\n").at(-1) ?? ""), shownChars);
}

/** One row; what has no room is not in it. */
export function oneRow(runs: Row, columns: number): Row {
  const row: TextRun[] = [];
  let room = columns;
  for (const { text, style: style } of runs) {
    const shown = room > 0 ? fit(text, room) : "";
    if (shown !== "") row.push({ text: shown, style: style });
    room -= cellsOf(shown);
  }
  return row;
}
