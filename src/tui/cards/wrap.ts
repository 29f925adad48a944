// Runs of text broken into rows of so many columns, at blanks where there are any. Wide characters count for what they take.
import type { Look, Run } from "../../kit/ansi.ts";

export type Row = readonly Run[];

type Word = { text: string; width: number; look: Look; isBlank: boolean };

/** Rows after the first begin with `hang` blanks. A line break in a run begins a row. */
export function wrapRuns(runs: Row, columns: number, hang = 0): Row[] {
  const width = Math.max(2, columns);
  const indent = Math.min(hang, width - 2);
  const rows: Row[] = [];
  let row: Run[] = [];
  let used = 0;
  const breakRow = (next: number) => {
    rows.push(row);
    row = next > 0 ? [{ text: " ".repeat(next), look: {} }] : [];
    used = next;
  };
  const put = ({ text, width: wide, look }: Word) => {
    const last = row.at(-1);
    if (last !== undefined && last.look === look) row[row.length - 1] = { text: last.text + text, look };
    else row.push({ text, look });
    used += wide;
  };
  for (const word of runs.flatMap(wordsOf)) {
    if (word.text === "\n") breakRow(0);
    else if (used + word.width <= width) put(word);
    else if (word.isBlank) breakRow(indent);
    else {
      if (used > indent && word.width <= width - indent) breakRow(indent);
      for (const piece of word.width <= width - used ? [word] : piecesOf(word)) {
        if (used + piece.width > width) breakRow(indent);
        put(piece);
      }
    }
  }
  return [...rows, row];
}

function wordsOf({ text, look }: Run): Word[] {
  const words = text.replaceAll("\t", "  ").match(/\n|[^\S\n]+|\S+/g) ?? [];
  return words.map((word) => ({ text: word, width: Bun.stringWidth(word), look, isBlank: /^\s/.test(word) }));
}

const segmenter = new Intl.Segmenter();

function piecesOf({ text, look }: Word): Word[] {
  return [...segmenter.segment(text)].map(({ segment }) => ({ text: segment, width: Bun.stringWidth(segment), look, isBlank: false }));
}

/** Exactly so many columns at most; what is longer ends with an ellipsis. */
export function fit(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text;
  let kept = "";
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    used += Bun.stringWidth(segment);
    if (used > columns - 1) break;
    kept += segment;
  }
  return columns > 0 ? `${kept}…` : "";
}
