// Computes which images are visible, at which rows, and how much of each.
import type { ImageData } from "../../protocol/tree/node.ts";
import type { VisibleRow } from "./window.ts";

/** An image of `rows` rows. `top` may be above the screen; `visibleRows` rows are visible, from row `firstVisible` of the screen. */
export type VisibleImage = { id: string; image: ImageData; top: number; rows: number; firstVisible: number; visibleRows: number };

export function visibleImages(rows: readonly Partial<VisibleRow>[]): VisibleImage[] {
  const images = new Map<string, VisibleImage>();
  rows.forEach(({ block, imageRow }, y) => {
    if (block?.kind !== "image" || imageRow === null || imageRow === undefined) return;
    const { id, image } = block;
    const visible = images.get(id) ?? { id, image, top: y - imageRow.index, rows: imageRow.count, firstVisible: y, visibleRows: 0 };
    images.set(id, { ...visible, visibleRows: visible.visibleRows + 1 });
  });
  return [...images.values()];
}
