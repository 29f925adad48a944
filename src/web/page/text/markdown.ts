// Markdown as data: headings, lists, quotes, fences, tables, rules, paragraphs. A text that still streams is read the same
// way, so an open fence is code. Unknown syntax stays text.
import { parseInline, type Inline } from "./inline.ts";

export type MarkdownBlock =
  | { kind: "paragraph"; items: Inline[] }
  | { kind: "heading"; level: number; items: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; blocks: MarkdownBlock[] }
  | { kind: "list"; isOrdered: boolean; start: number; items: { check: boolean | null; blocks: MarkdownBlock[] }[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const maxDepth = 8;
const itemPattern = /^(\s*)([-*+]|\d{1,9}[.)])(?:\s+|$)(?:\[([ xX])\]\s+)?/;

export function parseMarkdown(text: string, depth = 0): MarkdownBlock[] {
  const lines = text.split("\n");
  const blocks: MarkdownBlock[] = [];
  for (let index = 0; index < lines.length;) {
    const { block, next } = readBlock(lines, index, depth);
    if (block !== null) blocks.push(block);
    index = next;
  }
  return blocks;
}

type ReadBlock = { block: MarkdownBlock | null; next: number };

function readBlock(lines: readonly string[], index: number, depth: number): ReadBlock {
  const line = lines[index]!;
  if (line.trim() === "") return { block: null, next: index + 1 };
  const fence = /^(\s*)(`{3,}|~{3,})\s*([^\s`]*)/.exec(line);
  if (fence !== null) return readFence(lines, index, { indent: fence[1]!.length, mark: fence[2]!, language: fence[3]! });
  const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(line);
  if (heading !== null) return { block: { kind: "heading", level: heading[1]!.length, items: parseInline(heading[2]!) }, next: index + 1 };
  if (/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) return { block: { kind: "rule" }, next: index + 1 };
  if (depth < maxDepth && /^\s{0,3}>/.test(line)) return readQuote(lines, index, depth);
  if (depth < maxDepth && itemPattern.test(line)) return readList(lines, index, depth);
  if (line.includes("|") && isTableRule(lines[index + 1])) return readTable(lines, index);
  return readParagraph(lines, index);
}

function readFence(
  lines: readonly string[],
  index: number,
  { indent, mark, language }: { indent: number; mark: string; language: string },
): ReadBlock {
  const code: string[] = [];
  let next = index + 1;
  for (; next < lines.length; next += 1) {
    const closing = lines[next]!.trim();
    if (closing.startsWith(mark) && closing === mark[0]!.repeat(closing.length)) break;
    code.push(lines[next]!.slice(Math.min(indent, /^\s*/.exec(lines[next]!)![0].length)));
  }
  return { block: { kind: "code", language, text: code.join("\n") }, next: next + 1 };
}

function readQuote(lines: readonly string[], index: number, depth: number): ReadBlock {
  let next = index;
  const quoted: string[] = [];
  for (; next < lines.length && /^\s{0,3}>/.test(lines[next]!); next += 1) quoted.push(lines[next]!.replace(/^\s{0,3}>\s?/, ""));
  return { block: { kind: "quote", blocks: parseMarkdown(quoted.join("\n"), depth + 1) }, next };
}

/** Lines that are indented more than the mark belong to the item, also after an empty line. */
function readList(lines: readonly string[], index: number, depth: number): ReadBlock {
  const [, indent = "", sign = ""] = itemPattern.exec(lines[index]!)!;
  const isOrdered = /\d/.test(sign);
  const items: { check: boolean | null; blocks: MarkdownBlock[] }[] = [];
  let next = index;
  while (next < lines.length) {
    const match = itemPattern.exec(lines[next]!);
    if (match === null || match[1]!.length > indent.length + 1 || match[1]!.length < indent.length || /\d/.test(match[2]!) !== isOrdered)
      break;
    const width = match[1]!.length + match[2]!.length + 1;
    const content = [lines[next]!.slice(match[0].length)];
    for (next += 1; next < lines.length && belongsToItem(lines, next, indent.length + 1); next += 1)
      content.push(withoutIndent(lines[next]!, width));
    const check = match[3] === undefined ? null : match[3] !== " ";
    items.push({ check, blocks: parseMarkdown(content.join("\n"), depth + 1) });
    while (next < lines.length && lines[next]!.trim() === "" && itemPattern.test(lines[next + 1] ?? "")) next += 1;
  }
  return { block: { kind: "list", isOrdered, start: Number.parseInt(sign, 10) || 1, items }, next };
}

function belongsToItem(lines: readonly string[], index: number, indent: number): boolean {
  const line = lines[index]!;
  const isIndented = (text: string | undefined) => text !== undefined && text.trim() !== "" && /^\s*/.exec(text)![0].length >= indent;
  if (line.trim() === "") return isIndented(lines[index + 1]);
  return isIndented(line) || !(itemPattern.test(line) || /^(\s*(`{3,}|~{3,}|#{1,6}\s|>))/.test(line) || lines[index - 1]!.trim() === "");
}

function withoutIndent(line: string, width: number): string {
  return line.slice(Math.min(width, /^\s*/.exec(line)![0].length));
}

function isTableRule(line: string | undefined): boolean {
  return line !== undefined && line.includes("-") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(line);
}

function readTable(lines: readonly string[], index: number): ReadBlock {
  let next = index + 2;
  const rows: Inline[][][] = [];
  for (; next < lines.length && lines[next]!.includes("|"); next += 1) rows.push(cellsOf(lines[next]!));
  return { block: { kind: "table", head: cellsOf(lines[index]!), rows }, next };
}

function cellsOf(line: string): Inline[][] {
  return line
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => parseInline(cell.trim().replaceAll("\\|", "|")));
}

function readParagraph(lines: readonly string[], index: number): ReadBlock {
  let next = index + 1;
  while (next < lines.length && !startsBlock(lines, next)) next += 1;
  return { block: { kind: "paragraph", items: parseInline(lines.slice(index, next).join("\n")) }, next };
}

function startsBlock(lines: readonly string[], index: number): boolean {
  const line = lines[index]!;
  if (line.trim() === "" || /^\s*(`{3,}|~{3,})|^ {0,3}(#{1,6}\s|>)/.test(line) || itemPattern.test(line)) return true;
  return line.includes("|") && isTableRule(lines[index + 1]);
}
