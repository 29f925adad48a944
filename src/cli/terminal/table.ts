// Aligned columns for people. Knows widths, not meanings; colours in a cell do not count.

export type Column = { title?: string; align?: "left" | "right" };
export type TableOptions = {
  columns: readonly Column[];
  /** The last column is cut so that a line fits; without it nothing is cut. */
  width?: number;
  paintTitle?: (text: string) => string;
};

/** Lines with two blanks between columns, each ended; empty for no rows. */
export function tableText(rows: readonly (readonly string[])[], options: TableOptions): string {
  if (rows.length === 0) return "";
  const { columns, paintTitle = (text) => text } = options;
  const titles = columns.some((column) => column.title !== undefined) ? [columns.map((column) => paintTitle(column.title ?? ""))] : [];
  const lines = [...titles, ...rows];
  const widths = columns.map((_, at) => Math.max(...lines.map((cells) => Bun.stringWidth(cells[at] ?? ""))));
  return lines.map((cells) => `${line(cells, widths, options)}\n`).join("");
}

/** `text` in at most `width` columns of a terminal, with an ellipsis when something is missing. */
export function fit(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let room = Math.max(0, width - 1);
  // A wide character on the edge is kept by the slice.
  while (room > 0 && Bun.stringWidth(Bun.sliceAnsi(text, 0, room)) > width - 1) room -= 1;
  return `${Bun.sliceAnsi(text, 0, room).trimEnd()}…`;
}

function line(cells: readonly string[], widths: number[], { columns, width }: TableOptions): string {
  const last = columns.length - 1;
  const before = widths.slice(0, last).reduce((sum, each) => sum + each + 2, 0);
  const room = width === undefined ? Number.POSITIVE_INFINITY : Math.max(10, width - before);
  return columns
    .map((column, at) => pad(at === last ? fit(cells[at] ?? "", room) : (cells[at] ?? ""), widths[at] ?? 0, column.align))
    .join("  ")
    .trimEnd();
}

function pad(text: string, width: number, align: Column["align"] = "left"): string {
  const blanks = " ".repeat(Math.max(0, width - Bun.stringWidth(text)));
  return align === "right" ? blanks + text : text + blanks;
}
