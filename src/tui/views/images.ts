// Which images are in view, where, and how much of each.
import type { ImageData } from "../../protocol/tree/node.ts";
import type { VisibleRow } from "./window.ts";

/** It has `rows` rows from `top` on, which may lie above the screen; of them those from `first` on are seen, `seen` in all. */
export type VisibleImage = { id: string; image: ImageData; top: number; rows: number; first: number; seen: number };

export function visibleImages(shown: readonly Partial<VisibleRow>[]): VisibleImage[] {
  const images = new Map<string, VisibleImage>();
  shown.forEach(({ block, drawn }, at) => {
    if (block?.kind !== "image" || drawn === null || drawn === undefined) return;
    const { id, image } = block;
    const known = images.get(id) ?? { id, image, top: at - drawn.row, rows: drawn.of, first: at, seen: 0 };
    images.set(id, { ...known, seen: known.seen + 1 });
  });
  return [...images.values()];
}
