// The colours of rows. Each colour has several shades that look the same in a terminal but differ for OpenTUI, which
// writes only changed cells. A row with many changes gets the next shade. OpenTUI then writes it in one piece, without
// moving the cursor around every letter that happens to be the same.
import { RGBA } from "@opentui/core";
import type { TextStyle } from "../../kit/text/ansi.ts";

/** Cells from `emptyFromColumn` on have always been empty. */
export type RowColors = { colorOf: (style: TextStyle) => RGBA; emptyFromColumn: number };

/** A frame may be drawn but never written, so two shades are not enough to differ from the written frame. */
const shadeCount = 4;

const plain = shadesOf(RGBA.defaultForeground(), (rgb) => RGBA.defaultForeground(rgb));
/** The terminal's sixteen colours, which are readable on its background. */
const colored = Array.from({ length: 16 }, (_, index) => shadesOf(RGBA.fromIndex(index), (rgb) => RGBA.fromIndex(index, rgb)));

/** Shades differ only in the RGB value, which terminals with own colours ignore. */
function shadesOf(color: RGBA, create: (rgb: RGBA) => RGBA): RGBA[] {
  const [red, green, blue] = color.toInts();
  return Array.from({ length: shadeCount }, (_, shade) => create(RGBA.fromInts(red, green, blue ^ shade)));
}

export const emptyColor = RGBA.defaultForeground();
const maxPieces = 3;

/** Returns a function that chooses the shade of each row. */
export function createColorPicker(isColored: boolean): (y: number, text: string, cells: number) => RowColors {
  const previousRows: { text: string; emptyFromColumn: number; shade: number }[] = [];
  return (y, text, cells) => {
    const previous = previousRows[y] ?? { text: "", emptyFromColumn: 0, shade: 0 };
    const isRewritten = text !== previous.text && changedPieces(previous.text, text) > maxPieces;
    const shade = isRewritten ? (previous.shade + 1) % shadeCount : previous.shade;
    const emptyFromColumn = Math.max(cells, previous.emptyFromColumn);
    previousRows[y] = { text, emptyFromColumn, shade };
    const colorOf = ({ color }: TextStyle) => (isColored && typeof color === "number" ? colored[color] : plain)?.[shade] ?? emptyColor;
    return { colorOf, emptyFromColumn };
  };
}

/** The number of separate changes in a row. An appended text or a changed word counts as one. */
function changedPieces(before: string, after: string): number {
  let pieces = 0;
  let wasSame = true;
  for (let index = 0; index < Math.max(before.length, after.length); index += 1) {
    const isSame = (before[index] ?? " ") === (after[index] ?? " ");
    if (wasSame && !isSame) pieces += 1;
    wasSame = isSame;
  }
  return pieces;
}
