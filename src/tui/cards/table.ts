// A table of Markdown in columns that fit: the widest give way first, and what does not fit in a cell is wrapped in it.
import type { TextRun } from "../../kit/text/ansi.ts";
import { cellsOf, printableText } from "../layout/cells.ts";
import { inlineRuns } from "./inline-markdown.ts";
import { faint } from "../layout/styles.ts";
import { strip, type Strip } from "./strips.ts";
import { blanks, wrapRuns, type Row } from "../layout/wrap.ts";

type Align = "left" | "right" | "center";
export type Shape = { widths: number[]; aligns: Align[] };
/** Lines that may be a table; with a shape they go on with one that has begun. */
export type Table = { lines: readonly string[]; shape: Shape | null };
type ReadTable = { shape: Shape; head: TextRun[][] | null; body: TextRun[][][] };

/** So many are laid out together; the rows after them keep the columns that these have made. */
export const maxTableRows = 50;

const between = " │ ";

export function isTableLine(line: string): boolean {
  return /^\s*\|.*\S/.test(line);
}

/** Null when these lines are no table, or there is no room for one. */
export function readTable({ lines, shape }: Table, columns: number): ReadTable | null {
  if (shape !== null) return { shape, head: null, body: lines.map((line) => cellsIn(line, shape.widths.length)) };
  const [first = "", rule = "", ...rest] = lines;
  if (!/^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(rule)) return null;
  const aligns = splitCells(rule).map(alignOf);
  const head = cellsIn(first, aligns.length);
  const body = rest.map((line) => cellsIn(line, aligns.length));
  const natural = aligns.map((_, at) => Math.max(1, ...[head, ...body].map((cells) => widthOf(cells[at] ?? []))));
  const room = columns - between.length * (aligns.length - 1);
  if (room < aligns.length * 3) return null;
  return { shape: { aligns, widths: narrowed(natural, room) }, head, body };
}

export function tableStrip({ shape, head, body }: ReadTable): Strip {
  return strip(() => {
    const rule: Row = [{ text: shape.widths.map((width) => "─".repeat(width)).join("─┼─"), style: faint }];
    const bold = (head ?? []).map((cell) => cell.map((run) => ({ ...run, style: { ...run.style, bold: true } })));
    return [...(head === null ? [] : [...tableRow(bold, shape), rule]), ...body.flatMap((cells) => tableRow(cells, shape))];
  });
}

function tableRow(cells: readonly TextRun[][], { widths, aligns }: Shape): Row[] {
  const wrapped = widths.map((width, at) => wrapRuns(cells[at] ?? [], width));
  const height = Math.max(...wrapped.map((rows) => rows.length));
  return Array.from({ length: height }, (_, row) =>
    widths.flatMap((width, at): TextRun[] => {
      const text = wrapped[at]?.[row] ?? [];
      const free = Math.max(0, width - widthOf(text));
      const before = aligns[at] === "right" ? free : aligns[at] === "center" ? Math.floor(free / 2) : 0;
      const padded = [blanks(before), ...text, blanks(free - before)];
      return at === 0 ? padded : [{ text: between, style: faint }, ...padded];
    }),
  );
}

/** The widest columns lose what is too much. */
function narrowed(widths: number[], room: number): number[] {
  const next = [...widths];
  for (let over = next.reduce((sum, width) => sum + width, 0) - room; over > 0; over -= 1) {
    const widest = next.indexOf(Math.max(...next));
    next[widest] = (next[widest] ?? 1) - 1;
  }
  return next;
}

function cellsIn(line: string, count: number): TextRun[][] {
  const cells = splitCells(line).map((cell) => inlineRuns(cell, {}));
  return Array.from({ length: count }, (_, at) => cells[at] ?? []);
}

/** Bars in code or behind a backslash part nothing. */
function splitCells(line: string): string[] {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  const cells = inner.match(/(?:\\.|`[^`]*`|[^|])+|(?<=\|)(?=\|)|^(?=\|)/g) ?? [];
  return cells.map((cell) => cell.replaceAll("\\|", "|").trim());
}

function alignOf(rule: string): Align {
  const right = rule.endsWith(":");
  return right && rule.startsWith(":") ? "center" : right ? "right" : "left";
}

function widthOf(runs: readonly TextRun[]): number {
  return runs.reduce((sum, { text }) => sum + cellsOf(printableText(text)), 0);
}
