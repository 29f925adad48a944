// Renders Markdown for a terminal: headings, lists, quotes, fences, tables, rules. Unknown syntax stays as it is written.
// It renders text that still streams, and keeps every line break, so that streaming text does not jump.
import type { TextStyle } from "../../kit/text/ansi.ts";
import { inlineRuns } from "./inline-markdown.ts";
import { faint, heading, marker, proseColumns } from "../layout/styles.ts";
import { strip, type BlockReader, type Strip } from "./strips.ts";
import { findHighlighter, colorLine, type SyntaxState } from "../../kit/highlight/syntax.ts";
import { isTableLine, maxTableRows, readTable, tableStrip, type Table } from "./table.ts";
import { blanks, cellsOf, styled, wrapRuns, type Row } from "../layout/wrap.ts";

type Fence = { mark: string; syntax: SyntaxState };
/** The open fence or table. */
type State = Fence | Table | null;

export const markdown: BlockReader<State> = {
  start: null,
  line: (line, state, columns) => {
    if (state === null) return openLine(line, columns);
    return "mark" in state ? fencedLine(line, state, columns) : tableLine(line, state, columns);
  },
  end: (state, columns) => (state === null || "mark" in state ? [] : tableStrips(state, columns)),
};

function openLine(line: string, columns: number): { strips: Strip[]; state: State } {
  const fence = /^\s*(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/.exec(line);
  if (fence !== null) {
    const [, mark = "", name = ""] = fence;
    const syntax = { highlighter: findHighlighter(name), openSpan: null };
    return { strips: [strip(() => edge(`╭─ ${name}`.trimEnd(), columns))], state: { mark, syntax } };
  }
  if (isTableLine(line)) return { strips: [], state: { lines: [line], shape: null } };
  return { strips: [strip(() => lineRows(line, columns))], state: null };
}

function fencedLine(line: string, { mark, syntax }: Fence, columns: number): { strips: Strip[]; state: State } {
  const closing = line.trim();
  if (closing.startsWith(mark) && closing === mark.charAt(0).repeat(closing.length))
    return { strips: [strip(() => edge("╰─", columns))], state: null };
  const painted = colorLine(line, syntax);
  const bar = styled("│ ", faint);
  const rows = strip(() => wrapRuns([bar, ...painted.runs], columns, bar));
  return { strips: [rows], state: { mark, syntax: painted.syntax } };
}

function edge(text: string, columns: number): Row[] {
  return wrapRuns([styled(text, faint)], columns);
}

function tableLine(line: string, table: Table, columns: number): { strips: Strip[]; state: State } {
  if (!isTableLine(line)) {
    const next = openLine(line, columns);
    return { strips: [...tableStrips(table, columns), ...next.strips], state: next.state };
  }
  const extended = { ...table, lines: [...table.lines, line] };
  if (extended.lines.length < maxTableRows) return { strips: [], state: extended };
  const read = readTable(extended, columns);
  return { strips: tableStrips(extended, columns), state: read === null ? null : { lines: [], shape: read.shape } };
}

/** The strips of a table. Lines with bars that are no table are rendered as text. */
function tableStrips(table: Table, columns: number): Strip[] {
  const read = readTable(table, columns);
  return read === null ? table.lines.map((line) => strip(() => lineRows(line, columns))) : [tableStrip(read)];
}

/** A title may end with a space and number signs. */
function withoutClosing(title: string): string {
  let end = title.length;
  while (title[end - 1] === "#") end -= 1;
  return end < title.length && (end === 0 || /\s/.test(title[end - 1]!)) ? title.slice(0, end).trimEnd() : title;
}

function lineRows(line: string, columns: number): Row[] {
  const width = Math.min(columns, proseColumns);
  const title = /^ {0,3}(#{1,6})\s(.*)$/.exec(line);
  if (title !== null) {
    const [, level = "", rest = ""] = title;
    const text = withoutClosing(rest.trim());
    return wrapRuns(inlineRuns(text, level.length === 1 ? { ...heading, underline: true } : heading), width);
  }
  if (/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) return [[styled("─".repeat(width), faint)]];
  return textRows(line, width, {});
}

/** Rows of a quote, a list item (perhaps with a checkbox) or plain text. A quote may contain the others. */
function textRows(line: string, columns: number, style: TextStyle): Row[] {
  const quote = /^\s{0,3}>\s?(.*)$/.exec(line);
  if (quote !== null && columns > 8) {
    const bar = styled("│ ", marker);
    return textRows(quote[1] ?? "", columns - 2, { ...style, italic: true }).map((row) => [bar, ...row]);
  }
  const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/.exec(line);
  if (item === null) return wrapRuns(inlineRuns(line, style), columns);
  const [, indent = "", sign = "", tick, content = ""] = item;
  const box = tick === undefined ? "" : tick === " " ? "[ ] " : "[x] ";
  const head = styled(`${indent}${/\d/.test(sign) ? sign : "•"} ${box}`, marker);
  const text = inlineRuns(content, tick === "x" || tick === "X" ? { ...style, ...faint } : style);
  return wrapRuns([head, ...text], columns, blanks(cellsOf(head.text)));
}
