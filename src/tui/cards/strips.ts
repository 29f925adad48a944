// Splits a text into strips: parts (a line, a table) that are laid out separately, and only when they become visible.
// A growing text keeps the strips of its finished lines; only its last line is read again.
import { stripAnsi, type TextStyle, type TextRun } from "../../kit/text/ansi.ts";
import { clusterStart } from "../../kit/text/cut-text.ts";
import { cellsOf, wrapRuns, type Row } from "../layout/wrap.ts";

export type Strip = () => readonly Row[];

/** Reads a kind of text line by line. `State` is what a line needs from the lines before it. */
export type BlockReader<State> = {
  start: State;
  line: (line: string, state: State, columns: number) => { strips: Strip[]; state: State };
  /** Strips for lines that `line` has held back until the text ended. */
  end?: (state: State, columns: number) => Strip[];
};

/** The finished lines of a text, and their strips. */
type ReadProgress = { read: string; columns: number; strips: Strip[]; state: unknown };

/** The progress of the latest text of each reader. Only one text grows at a time. */
const latest = new WeakMap<object, ReadProgress>();

export function stripsOf<State>(reader: BlockReader<State>, text: string, columns: number): readonly Strip[] {
  const previous = latest.get(reader);
  const isContinued = previous !== undefined && previous.columns === columns && text.startsWith(previous.read);
  const progress: ReadProgress = isContinued ? { ...previous } : { read: "", columns, strips: [], state: reader.start };
  let offset = progress.read.length;
  for (let end = endOfLine(text, offset); end !== null; end = endOfLine(text, offset)) {
    const read = reader.line(plainLine(text.slice(offset, end)), progress.state as State, columns);
    // Earlier callers got copies of this array, so it may grow.
    progress.strips.push(...read.strips);
    progress.state = read.state;
    offset = text[end] === "\n" ? end + 1 : end;
  }
  latest.set(reader, { ...progress, read: text.slice(0, offset) });
  const lastLine = reader.line(plainLine(text.slice(offset)), progress.state as State, columns);
  return [...progress.strips, ...lastLine.strips, ...(reader.end?.(lastLine.state, columns) ?? [])];
}

const maxLineChars = 2000;

/** The end of the line that starts at `start`, or of its first piece if it is very long. Null while the line may grow. */
function endOfLine(text: string, start: number): number | null {
  const next = text.slice(start, start + maxLineChars + 1);
  const end = next.indexOf("\n");
  if (end >= 0) return start + end;
  if (next.length <= maxLineChars) return null;
  const blank = next.lastIndexOf(" ");
  return blank > maxLineChars / 2 ? start + blank + 1 : clusterStart(text, start + maxLineChars);
}

function plainLine(line: string): string {
  return /^[\x20-\x7e]*$/.test(line) ? line : stripAnsi(line);
}

/** A strip that is laid out once, when it is first visible. */
export function strip(layOut: () => readonly Row[]): Strip {
  let rows: readonly Row[] | null = null;
  return () => (rows ??= layOut());
}

/** A reader for text in one style, with a mark before every row. */
export function prefixedText(mark: TextRun, style: TextStyle, maxColumns = Number.POSITIVE_INFINITY): BlockReader<null> {
  const markCells = cellsOf(mark.text);
  const rows = (text: string, columns: number): Row[] => {
    const width = Math.min(columns, maxColumns) - markCells;
    // Without space for both, only the text is shown.
    return width < 2 ? wrapRuns([{ text, style }], columns) : wrapRuns([{ text, style }], width).map((row) => [mark, ...row]);
  };
  return { start: null, line: (text, state, columns) => ({ strips: [strip(() => rows(text, columns))], state }) };
}
