// The colours in which rows are drawn. Each is there in several shades that a terminal shows the same, but that OpenTUI,
// which writes only cells that differ from the frame before, takes for different. A row that changed in many places gets
// the next shade and so is written in one piece, not with a jump of the cursor around every letter that happens to stay.
import { RGBA } from "@opentui/core";
import type { TextStyle } from "../../kit/text/ansi.ts";

/** Cells from `restFrom` on have always been empty. */
export type Ink = { of: (style: TextStyle) => RGBA; restFrom: number };

/** A frame may be drawn and never written: the next but one must not look like the one that was. */
const shadeCount = 4;

const plain = shadesOf(RGBA.defaultForeground(), (twin) => RGBA.defaultForeground(twin));
/** The terminal's own sixteen: they are readable on its background, light or dark. */
const colored = Array.from({ length: 16 }, (_, index) => shadesOf(RGBA.fromIndex(index), (twin) => RGBA.fromIndex(index, twin)));

/** What differs is only the value that stands for a colour where a terminal has no colours of its own. */
function shadesOf(color: RGBA, made: (twin: RGBA) => RGBA): RGBA[] {
  const [red, green, blue] = color.toInts();
  return Array.from({ length: shadeCount }, (_, shade) => made(RGBA.fromInts(red, green, blue ^ shade)));
}

export const emptyInk = RGBA.defaultForeground();
const fewPieces = 3;

/** For each row of the screen the ink of this frame. */
export class Inks {
  private before: { text: string; restFrom: number; shade: number }[] = [];
  private readonly isColored: boolean;

  constructor({ color }: { color: boolean }) {
    this.isColored = color;
  }

  forRow(y: number, text: string, cells: number): Ink {
    const last = this.before[y] ?? { text: "", restFrom: 0, shade: 0 };
    const shade = text !== last.text && changedPieces(last.text, text) > fewPieces ? (last.shade + 1) % shadeCount : last.shade;
    const restFrom = Math.max(cells, last.restFrom);
    this.before[y] = { text, restFrom, shade };
    const of = ({ color }: TextStyle) => (this.isColored && typeof color === "number" ? colored[color] : plain)?.[shade] ?? emptyInk;
    return { of, restFrom };
  }
}

/** In how many places; where a row only goes on, or one word of it changed, there are few. */
function changedPieces(before: string, after: string): number {
  let pieces = 0;
  let stayed = true;
  for (let at = 0; at < Math.max(before.length, after.length); at += 1) {
    const stays = (before[at] ?? " ") === (after[at] ?? " ");
    if (stayed && !stays) pieces += 1;
    stayed = stays;
  }
  return pieces;
}
