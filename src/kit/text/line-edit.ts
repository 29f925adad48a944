// The text under the cursor, and what a key makes of it. Pure: a line in, a line out. Moves by whole characters
// as a person sees them (grapheme clusters), and by rows in a text of several lines.

export type EditLine = { text: string; cursor: number };

export const emptyEditLine: EditLine = { text: "", cursor: 0 };

export function insertText({ text, cursor }: EditLine, added: string): EditLine {
  return { text: text.slice(0, cursor) + added + text.slice(cursor), cursor: cursor + added.length };
}

export type Edit = (line: EditLine) => EditLine;

/** By the names of keys. */
export const editActions = {
  left: ({ text, cursor }) => ({ text, cursor: before(text, cursor) }),
  right: ({ text, cursor }) => ({ text, cursor: after(text, cursor) }),
  home: ({ text, cursor }) => ({ text, cursor: rowStart(text, cursor) }),
  end: ({ text, cursor }) => ({ text, cursor: rowEnd(text, cursor) }),
  "word-left": ({ text, cursor }) => ({ text, cursor: wordStart(text, cursor) }),
  "word-right": ({ text, cursor }) => ({ text, cursor: cursor + (/^\s*\S*/.exec(text.slice(cursor))?.[0].length ?? 0) }),
  backspace: ({ text, cursor }) => without(text, before(text, cursor), cursor),
  delete: ({ text, cursor }) => without(text, cursor, after(text, cursor)),
  "kill-word": ({ text, cursor }) => without(text, wordStart(text, cursor), cursor),
  "kill-start": ({ text, cursor }) => without(text, rowStart(text, cursor), cursor),
  "kill-end": ({ text, cursor }) => without(text, cursor, rowEnd(text, cursor)),
} satisfies Record<string, Edit>;

/** The same place one row up or down; null when there is no such row. */
export function moveRow({ text, cursor }: EditLine, by: -1 | 1): EditLine | null {
  const start = rowStart(text, cursor);
  const column = cursor - start;
  if (by < 0) return start === 0 ? null : { text, cursor: inRow(text, rowStart(text, start - 1), column) };
  const end = rowEnd(text, cursor);
  return end === text.length ? null : { text, cursor: inRow(text, end + 1, column) };
}

function inRow(text: string, start: number, column: number): number {
  return Math.min(start + column, rowEnd(text, start));
}

function without(text: string, from: number, to: number): EditLine {
  return { text: text.slice(0, from) + text.slice(to), cursor: from };
}

function rowStart(text: string, cursor: number): number {
  return cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1;
}

function rowEnd(text: string, cursor: number): number {
  const end = text.indexOf("\n", cursor);
  return end < 0 ? text.length : end;
}

function wordStart(text: string, cursor: number): number {
  return cursor - (/\S*\s*$/.exec(text.slice(0, cursor))?.[0].length ?? 0);
}

const segmenter = new Intl.Segmenter();

function before(text: string, cursor: number): number {
  return segmenter.segment(text).containing(cursor - 1)?.index ?? 0;
}

function after(text: string, cursor: number): number {
  const found = segmenter.segment(text).containing(cursor);
  return found === undefined ? text.length : found.index + found.segment.length;
}
