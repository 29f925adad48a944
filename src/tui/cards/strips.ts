// A block in strips: parts of it that are laid out by themselves, a line of its text or a table, and only when someone
// looks. Text that grows keeps the strips of all that is finished in it; only its last line is read again.
import { stripAnsi, type TextStyle, type TextRun } from "../../kit/text/ansi.ts";
import { clusterStart } from "../../kit/text/cut-text.ts";
import { cellsOf } from "../layout/cells.ts";
import { wrapRuns, type Row } from "../layout/wrap.ts";

export type Strip = () => readonly Row[];

/** How a kind of text is read, line by line; `State` is what a line needs to know of those before it. */
export type BlockReader<State> = {
  start: State;
  line: (line: string, state: State, columns: number) => { strips: Strip[]; state: State };
  /** What is still held when the text ends. */
  end?: (state: State, columns: number) => Strip[];
};

/** The lines of a text that are finished, and what was made of them. */
type ReadProgress = { read: string; columns: number; strips: Strip[]; state: unknown };

/** Of the last text that each reader read: text grows in one place at a time. */

const latest = new WeakMap<object, ReadProgress>();

export function stripsOf<State>(reader: BlockReader<State>, text: string, columns: number): readonly Strip[] {
  const known = latest.get(reader);
  const goesOn = known !== undefined && known.columns === columns && text.startsWith(known.read);
  const reading: ReadProgress = goesOn ? { ...known } : { read: "", columns, strips: [], state: reader.start };
  let at = reading.read.length;
  for (let end = endOfLine(text, at); end !== null; end = endOfLine(text, at)) {
    const read = reader.line(plainLine(text.slice(at, end)), reading.state as State, columns);
    // Those who were given the strips before this have them in arrays of their own.
    reading.strips.push(...read.strips);
    reading.state = read.state;
    at = text[end] === "\n" ? end + 1 : end;
  }
  latest.set(reader, { ...reading, read: text.slice(0, at) });
  const last = reader.line(plainLine(text.slice(at)), reading.state as State, columns);
  return [...reading.strips, ...last.strips, ...(reader.end?.(last.state, columns) ?? [])];
}

const longestLine = 2000;

/** Where the line ends that begins at `from`, or a piece of it that is long enough; null while it may go on. */
function endOfLine(text: string, from: number): number | null {
  const next = text.slice(from, from + longestLine + 1);
  const end = next.indexOf("\n");
  if (end >= 0) return from + end;
  if (next.length <= longestLine) return null;
  const blank = next.lastIndexOf(" ");
  return blank > longestLine / 2 ? from + blank + 1 : clusterStart(text, from + longestLine);
}

function plainLine(line: string): string {
  return /^[\x20-\x7e]*$/.test(line) ? line : stripAnsi(line);
}

/** Laid out once, when it is first looked at. */
export function strip(layOut: () => readonly Row[]): Strip {
  let rows: readonly Row[] | null = null;
  return () => (rows ??= layOut());
}

/** Text of one look behind a mark on every row. */
export function prefixedText(mark: TextRun, style: TextStyle, most = Number.POSITIVE_INFINITY): BlockReader<null> {
  const markCells = cellsOf(mark.text);
  const rows = (text: string, columns: number): Row[] => {
    const room = Math.min(columns, most) - markCells;
    // Where there is no room for both, the text is what matters.
    return room < 2 ? wrapRuns([{ text, style: style }], columns) : wrapRuns([{ text, style: style }], room).map((row) => [mark, ...row]);
  };
  return { start: null, line: (text, state, columns) => ({ strips: [strip(() => rows(text, columns))], state }) };
}
