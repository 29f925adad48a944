// Markdown as a terminal shows it: headings, lists, quotes, fences, emphasis, code and links. What it does not know
// stays as it was written; half-written text is shown as far as it goes.
import type { Look, Run } from "../../kit/ansi.ts";
import { wrapRuns, type Row } from "./wrap.ts";

const code: Look = { color: 6 };
const marker: Look = { color: 5 };
const faint: Look = { dim: true };

export function markdownRows(text: string, columns: number): Row[] {
  let isFenced = false;
  return text
    .replace(/\n+$/, "")
    .split("\n")
    .flatMap((line) => {
      if (/^\s*(```|~~~)/.test(line)) {
        isFenced = !isFenced;
        return [[{ text: line, look: faint }]];
      }
      return isFenced ? wrapRuns([{ text: line, look: code }], columns) : lineRows(line, columns);
    });
}

function lineRows(line: string, columns: number): Row[] {
  const heading = /^(#{1,6})\s+(.*)$/.exec(line);
  if (heading !== null) return wrapRuns(inline(heading[2] ?? "", { bold: true, color: 4 }), columns);
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return [[{ text: "─".repeat(columns), look: faint }]];
  const item = /^(\s*)([-*+]|\d+[.)])\s+(.*)$/.exec(line);
  if (item !== null) {
    const [, indent = "", sign = "", rest = ""] = item;
    const head = `${indent}${/\d/.test(sign) ? sign : "•"} `;
    return wrapRuns([{ text: head, look: marker }, ...inline(rest, {})], columns, head.length);
  }
  const quote = /^\s*>\s?(.*)$/.exec(line);
  if (quote !== null) return wrapRuns([{ text: "│ ", look: marker }, ...inline(quote[1] ?? "", { italic: true })], columns, 2);
  return wrapRuns(inline(line, {}), columns);
}

const marks = /(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])|\[([^\]]+)\]\(([^)\s]+)\)/g;

function inline(text: string, look: Look): Run[] {
  const runs: Run[] = [];
  let from = 0;
  const push = (piece: string | undefined, style: Look) => {
    if (piece !== undefined && piece !== "") runs.push({ text: piece, look: style });
  };
  for (const found of text.matchAll(marks)) {
    push(text.slice(from, found.index), look);
    from = found.index + found[0].length;
    const [, , quoted, strong, strongToo, emphasis, label, target] = found;
    push(quoted, { ...look, ...code });
    push(strong ?? strongToo, { ...look, bold: true });
    push(emphasis, { ...look, italic: true });
    push(label, { ...look, underline: true });
    if (target !== undefined && target !== label) push(` (${target})`, { ...look, ...faint });
  }
  push(text.slice(from), look);
  return runs;
}
