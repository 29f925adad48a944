// Renders aligned columns. Colours in a cell do not count for its width.

export type Column = { title?: string; align?: "left" | "right" };
export type TableOptions = {
  columns: readonly Column[];
  /** Cuts the last column so that a line fits. Undefined cuts nothing. */
  width?: number;
  paintTitle?: (text: string) => string;
};

/** Renders one line for each row, with two blanks between columns. Returns "" if there are no rows. */
export function tableText(rows: readonly (readonly string[])[], options: TableOptions): string {
  if (rows.length === 0) return "";
  const { columns, paintTitle = (text) => text } = options;
  const titles = columns.some((column) => column.title !== undefined) ? [columns.map((column) => paintTitle(column.title ?? ""))] : [];
  const lines = [...titles, ...rows];
  const widths = columns.map((_, index) => Math.max(...lines.map((cells) => Bun.stringWidth(cells[index] ?? ""))));
  return lines.map((cells) => `${lineText(cells, widths, options)}\n`).join("");
}

export type ItemColumn<Item> = Column & { cell: (item: Item) => string };

/** Renders one line for each item. */
export function itemTable<Item>(
  items: readonly Item[],
  columns: readonly ItemColumn<Item>[],
  options: Omit<TableOptions, "columns">,
): string {
  const rows = items.map((item) => columns.map(({ cell }) => cell(item)));
  return tableText(rows, { columns, ...options });
}

export type DroppableColumn<Item> = ItemColumn<Item> & {
  title: string;
  /** A narrow terminal drops the columns with the highest number first; 0 always stays. */
  dropOrder: number;
};

const minLastColumn = 24;

/** Drops empty columns, then others until the last column has enough room for a sentence. */
export function fittingColumns<Item>(
  columns: readonly DroppableColumn<Item>[],
  items: readonly Item[],
  width: number,
): DroppableColumn<Item>[] {
  const last = columns.at(-1);
  const widthOf = ({ title, cell }: DroppableColumn<Item>) => Math.max(title.length, ...items.map((item) => Bun.stringWidth(cell(item))));
  let visible = columns.filter((column) => column === last || items.some((item) => column.cell(item) !== ""));
  while (visible.reduce((sum, column) => sum + (column === last ? minLastColumn : widthOf(column) + 2), 0) > width) {
    const highest = Math.max(...visible.map(({ dropOrder }) => dropOrder));
    if (highest === 0) break;
    visible = visible.filter(({ dropOrder }) => dropOrder !== highest);
  }
  return visible;
}

/** Cuts `text` to at most `width` columns of a terminal, with an ellipsis at the cut. */
export function cutToWidth(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let end = Math.max(0, width - 1);
  // sliceAnsi keeps a wide character that crosses the edge.
  while (end > 0 && Bun.stringWidth(Bun.sliceAnsi(text, 0, end)) > width - 1) end -= 1;
  return `${Bun.sliceAnsi(text, 0, end).trimEnd()}…`;
}

const minLastWidth = 10;

function lineText(cells: readonly string[], widths: number[], { columns, width }: TableOptions): string {
  const last = columns.length - 1;
  const widthBefore = widths.slice(0, last).reduce((sum, columnWidth) => sum + columnWidth + 2, 0);
  const lastWidth = width === undefined ? Number.POSITIVE_INFINITY : Math.max(minLastWidth, width - widthBefore);
  const padded = columns.map(({ align }, index) => {
    const cell = cells[index] ?? "";
    return pad(index === last ? cutToWidth(cell, lastWidth) : cell, widths[index] ?? 0, align);
  });
  return padded.join("  ").trimEnd();
}

function pad(text: string, width: number, align: Column["align"] = "left"): string {
  const blanks = " ".repeat(Math.max(0, width - Bun.stringWidth(text)));
  return align === "right" ? blanks + text : text + blanks;
}
