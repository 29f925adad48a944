// Renders a Markdown table in columns that fit: the widest columns shrink first, and long cells are wrapped.
import type { TextRun } from "../../kit/text/ansi.ts";
import { inlineRuns } from "./inline-markdown.ts";
import { faint } from "../layout/styles.ts";
import { strip, type Strip } from "./strips.ts";
import { blanks, cellsOf, printableText, styled, wrapRuns, type Row } from "../layout/wrap.ts";

type Align = "left" | "right" | "center";
export type Shape = { widths: number[]; aligns: Align[] };
/** Lines that may be a table. With a shape they continue a table whose first rows are already rendered. */
export type Table = { lines: readonly string[]; shape: Shape | null };
type TableCells = { shape: Shape; head: TextRun[][] | null; body: TextRun[][][] };

/** Rows that are laid out together. Later rows keep their column widths. */
export const maxTableRows = 50;

const separator = " │ ";

export function isTableLine(line: string): boolean {
  return /^\s*\|.*\S/.test(line);
}

/** Whether this is the line below the head: it has dashes in every cell, and colons for the alignment. */
function isRule(line: string): boolean {
  const cells = line.trim().split("|");
  if (cells[0] === "") cells.shift();
  if (cells.at(-1) === "") cells.pop();
  return cells.length > 0 && cells.every((cell) => /^:?-+:?$/.test(cell.trim()));
}

/** Null if the lines are no table, or the screen is too narrow for it. */
export function readTable({ lines, shape }: Table, columns: number): TableCells | null {
  if (shape !== null) return { shape, head: null, body: lines.map((line) => cellsIn(line, shape.widths.length)) };
  const [first = "", rule = "", ...bodyLines] = lines;
  if (!isRule(rule)) return null;
  const aligns = splitCells(rule).map(alignOf);
  const head = cellsIn(first, aligns.length);
  const body = bodyLines.map((line) => cellsIn(line, aligns.length));
  const naturalWidths = aligns.map((_, index) => Math.max(1, ...[head, ...body].map((cells) => widthOf(cells[index] ?? []))));
  const availableWidth = columns - separator.length * (aligns.length - 1);
  if (availableWidth < aligns.length * 3) return null;
  return { shape: { aligns, widths: narrowWidths(naturalWidths, availableWidth) }, head, body };
}

export function tableStrip({ shape, head, body }: TableCells): Strip {
  return strip(() => {
    const rule: Row = [styled(shape.widths.map((width) => "─".repeat(width)).join("─┼─"), faint)];
    const boldHead = (head ?? []).map((cell) => cell.map((run) => ({ ...run, style: { ...run.style, bold: true } })));
    return [...(head === null ? [] : [...tableRow(boldHead, shape), rule]), ...body.flatMap((cells) => tableRow(cells, shape))];
  });
}

function tableRow(cells: readonly TextRun[][], { widths, aligns }: Shape): Row[] {
  const wrapped = widths.map((width, index) => wrapRuns(cells[index] ?? [], width));
  const height = Math.max(...wrapped.map((rows) => rows.length));
  return Array.from({ length: height }, (_, row) =>
    widths.flatMap((width, index): TextRun[] => {
      const text = wrapped[index]?.[row] ?? [];
      const free = Math.max(0, width - widthOf(text));
      const blanksBefore = aligns[index] === "right" ? free : aligns[index] === "center" ? Math.floor(free / 2) : 0;
      const padded = [blanks(blanksBefore), ...text, blanks(free - blanksBefore)];
      return index === 0 ? padded : [styled(separator, faint), ...padded];
    }),
  );
}

/** Shrinks the widest columns until all fit. */
function narrowWidths(widths: number[], availableWidth: number): number[] {
  const next = [...widths];
  for (let excess = next.reduce((sum, width) => sum + width, 0) - availableWidth; excess > 0; excess -= 1) {
    const widest = next.indexOf(Math.max(...next));
    next[widest] = (next[widest] ?? 1) - 1;
  }
  return next;
}

function cellsIn(line: string, count: number): TextRun[][] {
  const cells = splitCells(line).map((cell) => inlineRuns(cell, {}));
  return Array.from({ length: count }, (_, index) => cells[index] ?? []);
}

/** Bars in code or after a backslash do not separate cells. */
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
