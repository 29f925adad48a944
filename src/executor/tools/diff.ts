// A unified diff of two texts, for people to look at. Bounded in time and length: a large change is shown as
// removed and added lines, and what is over the bound is counted.

const context = 3;
const largestTable = 1_000_000;
const mostLines = 400;
const longestLine = 500;

type Row = { sign: " " | "-" | "+"; text: string };

/** Empty when nothing changed. `null` on the left stands for a file that did not exist. */
export function unifiedDiff(before: string | null, after: string, path: string): string {
  const rows = diffRows(splitLines(before ?? ""), splitLines(after));
  const body = hunks(rows);
  if (body.length === 0) return "";
  const shown = body.slice(0, mostLines).map((line) =>
    line.length > longestLine
      ? `${line
          .slice(0, longestLine)
          .toWellFormed()
          .replace(/\uFFFD$/, "")}…`
      : line,
  );
  if (body.length > mostLines) shown.push(`[... ${body.length - mostLines} more lines of the diff ...]`);
  return [`--- ${before === null ? "/dev/null" : path}`, `+++ ${path}`, ...shown].join("\n");
}

/** Line endings do not show; a missing one at the end does. */
function splitLines(text: string): string[] {
  if (text === "") return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  else lines.push(noNewline);
  return lines;
}

const noNewline = "\\ No newline at end of file";

function diffRows(before: string[], after: string[]): Row[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return [
    ...before.slice(0, head).map(same),
    ...middleRows(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

const same = (text: string): Row => ({ sign: " ", text });
const gone = (text: string): Row => ({ sign: "-", text });
const added = (text: string): Row => ({ sign: "+", text });

/** Longest common subsequence where the table for it is small, else everything out and everything in. */
function middleRows(before: string[], after: string[]): Row[] {
  const width = after.length + 1;
  if ((before.length + 1) * width > largestTable) return [...before.map(gone), ...after.map(added)];
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        before[i] === after[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const rows: Row[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      rows.push(same(before[i++]!));
      j += 1;
    } else if (j >= after.length || (i < before.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      rows.push(gone(before[i++]!));
    } else {
      rows.push(added(after[j++]!));
    }
  }
  return rows;
}

function hunks(rows: Row[]): string[] {
  const lines: string[] = [];
  let oldLine = 1;
  let newLine = 1;
  let at = 0;
  while (at < rows.length) {
    const change = rows.findIndex((row, index) => index >= at && row.sign !== " ");
    if (change === -1) break;
    const from = Math.max(at, change - context);
    oldLine += from - at;
    newLine += from - at;
    const to = hunkEnd(rows, change);
    const hunk = rows.slice(from, to);
    const real = hunk.filter((row) => row.text !== noNewline);
    const oldCount = real.filter((row) => row.sign !== "+").length;
    const newCount = real.filter((row) => row.sign !== "-").length;
    lines.push(`@@ -${span(oldLine, oldCount)} +${span(newLine, newCount)} @@`);
    for (const row of hunk) lines.push(row.text === noNewline ? noNewline : row.sign + row.text);
    oldLine += oldCount;
    newLine += newCount;
    at = to;
  }
  return lines;
}

/** A hunk goes on while the next change is so near that their context would touch. */
function hunkEnd(rows: Row[], change: number): number {
  let last = change;
  for (let index = change; index < rows.length && index - last <= context * 2; index += 1) {
    if (rows[index]!.sign !== " ") last = index;
  }
  return Math.min(rows.length, last + context + 1);
}

function span(line: number, count: number): string {
  return count === 1 ? `${line}` : `${count === 0 ? line - 1 : line},${count}`;
}
