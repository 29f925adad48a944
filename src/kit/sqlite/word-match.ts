// Queries of SQLite's full-text index, and the marks of matches in its snippets.

/** FTS5 queries. Every word must occur; "quoted words" must be adjacent. `prefix` needs a last word of three letters. */
export function matchesOf(query: string): { wholeWords: string | null; prefix: string | null } {
  const terms = [...query.replaceAll("\0", " ").matchAll(/"([^"]*)"|([^\s"]+)/g)]
    .map(([, quoted, word]) => ({ text: quoted ?? word ?? "", isWord: quoted === undefined }))
    .filter((term) => /[\p{L}\p{N}_]/u.test(term.text));
  const last = terms.at(-1);
  if (last === undefined) return { wholeWords: null, prefix: null };
  const wholeWords = terms.map((term) => `"${term.text}"`).join(" ");
  return { wholeWords, prefix: last.isWord && last.text.length >= 3 ? `${wholeWords}*` : null };
}

// Unicode noncharacters: no text contains them.
export const matchStart = "\uFDD0";
export const matchEnd = "\uFDD1";

/** Removes the markers of matches from a snippet and returns their positions. */
export function toMarks(marked: string): { snippet: string; marks: [start: number, end: number][] } {
  const marks: [start: number, end: number][] = [];
  let snippet = "";
  for (const [index, piece] of marked.split(matchStart).entries()) {
    const [match = "", ...following] = index === 0 ? ["", piece] : piece.split(matchEnd);
    if (match !== "") marks.push([snippet.length, snippet.length + match.length]);
    snippet += match + following.join("");
  }
  return { snippet, marks };
}
