// Edits the line of a prompt: cursor, words, deletion and history. All functions are pure.
// The cursor moves by grapheme clusters, and by rows in a text of several lines.
import { segmentsOf } from "./cut-text.ts";

export type EditLine = { text: string; cursor: number };

export const emptyEditLine: EditLine = { text: "", cursor: 0 };

export function insertText({ text, cursor }: EditLine, added: string): EditLine {
  return { text: text.slice(0, cursor) + added + text.slice(cursor), cursor: cursor + added.length };
}

export type Edit = (line: EditLine) => EditLine;

/** Edits by name. Each front end maps its keys to them. */
export const editActions = {
  left: ({ text, cursor }) => ({ text, cursor: clusterStart(text, cursor) }),
  right: ({ text, cursor }) => ({ text, cursor: clusterEnd(text, cursor) }),
  home: ({ text, cursor }) => ({ text, cursor: rowStart(text, cursor) }),
  end: ({ text, cursor }) => ({ text, cursor: rowEnd(text, cursor) }),
  "word-left": ({ text, cursor }) => ({ text, cursor: wordStart(text, cursor) }),
  "word-right": ({ text, cursor }) => ({ text, cursor: cursor + (/^\s*\S*/.exec(text.slice(cursor))?.[0].length ?? 0) }),
  backspace: ({ text, cursor }) => removeRange(text, clusterStart(text, cursor), cursor),
  delete: ({ text, cursor }) => removeRange(text, cursor, clusterEnd(text, cursor)),
  "kill-word": ({ text, cursor }) => removeRange(text, wordStart(text, cursor), cursor),
  "kill-start": ({ text, cursor }) => removeRange(text, rowStart(text, cursor), cursor),
  "kill-end": ({ text, cursor }) => removeRange(text, cursor, rowEnd(text, cursor)),
} satisfies Record<string, Edit>;

/** The same column one row up or down. Null if there is no such row. */
export function moveRow({ text, cursor }: EditLine, delta: -1 | 1): EditLine | null {
  const start = rowStart(text, cursor);
  const column = cursor - start;
  if (delta < 0) return start === 0 ? null : { text, cursor: cursorInRow(text, rowStart(text, start - 1), column) };
  const end = rowEnd(text, cursor);
  return end === text.length ? null : { text, cursor: cursorInRow(text, end + 1, column) };
}

/** A line, and the entry of the history that it shows. `recalled` is null while it shows the user's own text. */
export type RecallableLine = { line: EditLine; recalled: { index: number; typed: EditLine } | null };

/** Shows the previous (-1) or next (1) entry. The typed text follows the newest entry. Null if there is no such entry. */
export function recallEntry(history: readonly string[], { line, recalled }: RecallableLine, delta: -1 | 1): RecallableLine | null {
  const index = (recalled?.index ?? history.length) + delta;
  if (index < 0 || index > history.length) return null;
  const typed = recalled?.typed ?? line;
  const text = history[index];
  return text === undefined ? { line: typed, recalled: null } : { line: { text, cursor: text.length }, recalled: { index, typed } };
}

function cursorInRow(text: string, start: number, column: number): number {
  return Math.min(start + column, rowEnd(text, start));
}

function removeRange(text: string, from: number, to: number): EditLine {
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

function clusterStart(text: string, cursor: number): number {
  return segmentsOf(text).containing(cursor - 1)?.index ?? 0;
}

function clusterEnd(text: string, cursor: number): number {
  const cluster = segmentsOf(text).containing(cursor);
  return cluster === undefined ? text.length : cluster.index + cluster.segment.length;
}
