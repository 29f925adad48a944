// Fits a sentence into one row. If it is too wide, its paths become relative to the project or home. Then they lose their
// middle, because the end of a sentence matters more.
import { cellsOf, fit } from "../layout/wrap.ts";

/** Absolute paths. Empty if unknown. */
export type PathPrefixes = { project: string; home: string };

export function fitSentence(text: string, cells: number, { project, home }: PathPrefixes): string {
  if (cellsOf(text) <= cells) return fit(text, cells);
  const fromHome = replacePrefix(text, home, "~/");
  return fit(withCutPaths(replacePrefix(replacePrefix(fromHome, project, ""), replacePrefix(project, home, "~/"), ""), cells), cells);
}

function replacePrefix(text: string, prefix: string, replacement: string): string {
  if (prefix === "" || prefix === "/") return text;
  return text.replaceAll(new RegExp(`(?<![^\\s"'\`(:=])${RegExp.escape(prefix)}/`, "g"), replacement);
}

const pathLike = /[^\s"'`():;,]*\/[^\s"'`():;,]+/g;
const minPathChars = 20;

/** Shortens the longest path first, until the text fits or every path is short. */
function withCutPaths(text: string, cells: number): string {
  const excess = cellsOf(text) - cells;
  const longest = [...text.matchAll(pathLike)].toSorted((a, b) => b[0].length - a[0].length)[0];
  if (excess <= 0 || longest === undefined || Array.from(longest[0]).length <= minPathChars) return text;
  const [path] = longest;
  const cut = cutInside(path, Math.max(minPathChars, Array.from(path).length - excess));
  return withCutPaths(text.slice(0, longest.index) + cut + text.slice(longest.index + path.length), cells);
}

/** Keeps the file name, or its end. */
function cutInside(path: string, maxChars: number): string {
  const letters = Array.from(path);
  const nameLength = letters.length - letters.lastIndexOf("/");
  const tail = Math.min(nameLength, maxChars - 1);
  return [...letters.slice(0, maxChars - 1 - tail), "…", ...letters.slice(-tail)].join("");
}
