// Renders a unified diff of two texts for people. It is bounded in time and length: a very large change is shown as
// removed and added lines, and lines over the limit are only counted.
import { clusterStart, pluralize } from "../../kit/text/cut-text.ts";
import { structuredPatch } from "diff/lib/patch/create.js";

type Hunk = { oldStart: number; oldLines: number; newStart: number; newLines: number; lines: string[] };

const context = 3;
/** The longest edit script that is searched for. At this length the search takes about 90 ms. */
const maxEditLength = 600;
const maxLines = 400;
const maxLineLength = 500;

/** Returns "" if nothing changed. `before` is null for a file that did not exist. Line endings are ignored. */
export function unifiedDiff(before: string | null, after: string, path: string): string {
  const options = { context, stripTrailingCr: true, maxEditLength };
  const patch = structuredPatch(path, path, before ?? "", after, undefined, undefined, options);
  const hunks = patch?.hunks ?? [replaceAllHunk(before ?? "", after)];
  const lines = hunks.flatMap((hunk) => [
    `@@ -${rangeText(hunk.oldStart, hunk.oldLines)} +${rangeText(hunk.newStart, hunk.newLines)} @@`,
    ...hunk.lines,
  ]);
  if (lines.length === 0) return "";
  const visible = lines.slice(0, maxLines).map(cutLine);
  if (lines.length > maxLines) visible.push(`[... ${pluralize(lines.length - maxLines, "more line")} of the diff ...]`);
  return [`--- ${before === null ? "/dev/null" : path}`, `+++ ${path}`, ...visible].join("\n");
}

/** Removes every line between the common head and the common tail, and adds the new ones. */
function replaceAllHunk(before: string, after: string): Hunk {
  const [oldLines, newLines] = [before.split(/\r?\n/), after.split(/\r?\n/)];
  const shorter = Math.min(oldLines.length, newLines.length);
  let head = 0;
  while (head < shorter && oldLines[head] === newLines[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && oldLines.at(-1 - tail) === newLines.at(-1 - tail)) tail += 1;
  const removed = oldLines.slice(head, oldLines.length - tail);
  const added = newLines.slice(head, newLines.length - tail);
  const lines = [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)];
  return { oldStart: head + 1, oldLines: removed.length, newStart: head + 1, newLines: added.length, lines };
}

function rangeText(start: number, count: number): string {
  return count === 1 ? `${start}` : `${count === 0 ? start - 1 : start},${count}`;
}

function cutLine(line: string): string {
  return line.length <= maxLineLength ? line : `${line.slice(0, clusterStart(line, maxLineLength))}…`;
}
