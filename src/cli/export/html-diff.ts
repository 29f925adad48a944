// Finds the diff of a tool call and writes it as HTML: changed lines in colour, context lines highlighted as code.
import type { ToolBlock } from "./blocks.ts";
import { codeLines, escaped, extensionOf, runsHtml } from "./html-text.ts";
import { firstText, replacementsOf } from "../../protocol/tree/node.ts";

/** Longer diffs are folded like outputs. */
const maxShownLines = 400;

/** The unified diff that a call shows, or one made of the texts that its input replaces. Null if it changed no file. */
export function diffOf({ input, result }: ToolBlock): string | null {
  if (result?.isError === true) return null;
  const display = result?.display ?? "";
  if (/^@@ /m.test(display)) return display;
  if (input === null) return null;
  const path = firstText(input, ["file_path", "filePath", "path"]);
  const hunks = replacementsOf(input).map(hunkOf);
  if (path === undefined || hunks.length === 0) return null;
  return [`--- a/${path}`, `+++ b/${path}`, ...hunks].join("\n");
}

/** The lines that an edit removes and adds. */
function hunkOf({ before, after }: { before: string; after: string }): string {
  const removed = before === "" ? [] : before.split("\n").map((line) => `-${line}`);
  const added = after === "" ? [] : after.split("\n").map((line) => `+${line}`);
  return ["@@ @@", ...removed, ...added].join("\n");
}

export function isShort(diff: string): boolean {
  return diff.split("\n", maxShownLines + 1).length <= maxShownLines;
}

export function diffHtml(diff: string): string {
  const lines = diff.replace(/\n+$/, "").split("\n");
  const firstHunk = lines.findIndex((line) => line.startsWith("@@"));
  if (firstHunk < 0) return `<pre>${escaped(lines.join("\n"))}</pre>`;
  const language = extensionOf(/^\+\+\+ (.*?)\t?$/m.exec(diff)?.[1] ?? "");
  const rows = lines.slice(firstHunk).map((line) => diffLine(line, language));
  return `<pre class="diff">${rows.join("")}</pre>`;
}

/** The diffs of several files, each in a block of its own. Long ones are closed. */
export function patchHtml(patch: string): string {
  return patch
    .split(/^(?=diff --git )/m)
    .filter((diff) => diff.trim() !== "")
    .map((diff) => {
      const name = /^\+\+\+ (?:b\/)?(.*?)\t?$/m.exec(diff)?.[1] ?? diff.split("\n", 1)[0] ?? "";
      return `<details${isShort(diff) ? " open" : ""}><summary><code>${escaped(name)}</code></summary>${diffHtml(diff)}</details>`;
    })
    .join("\n");
}

const lineClasses: Record<string, string> = { "+": "add", "-": "del", "@": "hunk", "\\": "hunk" };

function diffLine(line: string, language: string): string {
  const lineClass = lineClasses[line.charAt(0)];
  if (lineClass === "hunk") return /^@@ @@$/.test(line) ? "" : `<span class="hunk">${escaped(line)}\n</span>`;
  const code = codeLines(line.slice(1), language).map(runsHtml).join("\n");
  return `<span class="${lineClass ?? "same"}">${lineClass === undefined ? " " : line.charAt(0)}${code}\n</span>`;
}
