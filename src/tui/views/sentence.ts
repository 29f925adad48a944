// A sentence in one row. Where it is too wide its paths get shorter, as seen from the project or from home, and then lose
// their middle: the end of a sentence says more than that.
import { cellsOf } from "../layout/cells.ts";
import { fit } from "../layout/wrap.ts";

/** Absolute; empty where it is not known. */
export type PathPrefixes = { project: string; home: string };

export function fitSentence(text: string, cells: number, { project, home }: PathPrefixes): string {
  if (cellsOf(text) <= cells) return fit(text, cells);
  const fromHome = seenFrom(text, home, "~/");
  return fit(withCutPaths(seenFrom(seenFrom(fromHome, project, ""), seenFrom(project, home, "~/"), ""), cells), cells);
}

function seenFrom(text: string, place: string, instead: string): string {
  if (place === "" || place === "/") return text;
  return text.replaceAll(new RegExp(`(?<![^\\s"'\`(:=])${RegExp.escape(place)}/`, "g"), instead);
}

const pathLike = /[^\s"'`():;,]*\/[^\s"'`():;,]+/g;
const shortest = 20;

/** The longest loses first, until all of the text has room or no path has anything left to lose. */
function withCutPaths(text: string, cells: number): string {
  const over = cellsOf(text) - cells;
  const longest = [...text.matchAll(pathLike)].toSorted((a, b) => b[0].length - a[0].length)[0];
  if (over <= 0 || longest === undefined || Array.from(longest[0]).length <= shortest) return text;
  const [path] = longest;
  const cut = cutInside(path, Math.max(shortest, Array.from(path).length - over));
  return withCutPaths(text.slice(0, longest.index) + cut + text.slice(longest.index + path.length), cells);
}

/** Its name stays, or the end of that. */
function cutInside(path: string, room: number): string {
  const letters = Array.from(path);
  const name = letters.length - letters.lastIndexOf("/");
  const tail = Math.min(name, room - 1);
  return [...letters.slice(0, room - 1 - tail), "…", ...letters.slice(-tail)].join("");
}
