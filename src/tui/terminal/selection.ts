// Text that the mouse selects on the drawn rows: its highlight, and its text for the clipboard without the marks that
// skein draws before each row. Pure.
import { cellsOf, clustersOf, styled, type Row } from "../layout/wrap.ts";

/** A cell of the screen. */
export type Cell = { x: number; y: number };
/** From the cell where the button was pressed to the cell under the mouse, in any order. */
export type Selection = { from: Cell; to: Cell };

/** The selected columns of a row: from `start` to before `end`. Null if the row is not selected. */
function columnsAt({ from, to }: Selection, y: number): { start: number; end: number } | null {
  const isForward = from.y < to.y || (from.y === to.y && from.x <= to.x);
  const [first, last] = isForward ? [from, to] : [to, from];
  if (y < first.y || y > last.y) return null;
  return { start: y === first.y ? first.x : 0, end: y === last.y ? last.x + 1 : Number.POSITIVE_INFINITY };
}

export function highlightSelection(rows: readonly Row[], selection: Selection): Row[] {
  return rows.map((row, y) => {
    const columns = columnsAt(selection, y);
    if (columns === null) return row;
    let x = 0;
    return row.flatMap(({ text, style }) =>
      clustersOf(text).map((cluster) => {
        const isSelected = x >= columns.start && x < columns.end;
        x += cluster.cells;
        return styled(cluster.text, isSelected ? { ...style, inverse: style.inverse !== true } : style);
      }),
    );
  });
}

/** The focus and the marks of messages, quotes, code and output. They are no text of the conversation. */
const rowMark = /^[ ┃] (?: {2}│ |│ |▌ |~ |· |◆ )?/;
/** The first and last row of a code block. */
const codeFrame = /^[ ┃] (?:╭─.*|╰─)$/;

export function selectedText(rows: readonly Row[], selection: Selection): string {
  const lines = rows.flatMap((row, y) => {
    const columns = columnsAt(selection, y);
    if (columns === null) return [];
    const text = row.map((run) => run.text).join("");
    if (codeFrame.test(text.trimEnd())) return [];
    const markCells = cellsOf(rowMark.exec(text)?.[0] ?? "");
    return [cutColumns(text, Math.max(columns.start, markCells), columns.end).trimEnd()];
  });
  return lines.join("\n").replace(/^\n+|\n+$/g, "");
}

function cutColumns(text: string, start: number, end: number): string {
  let x = 0;
  let result = "";
  for (const cluster of clustersOf(text)) {
    if (x >= start && x < end) result += cluster.text;
    x += cluster.cells;
  }
  return result;
}
