// Paints the state into the terminal's own screen: what is finished scrolls away with everything else that was printed there.
import type { Shown, Surface } from "../surface.ts";
import { pictureOf } from "../views/screen.ts";
import { cleared, paint, rewrapped, rowText, type Painted } from "./paint.ts";
import { footerOf, lastRows, needsWhole, nothingPrinted, rowsToPrint, type Printed } from "./picture.ts";

export function inlineSurface({ state, color }: Shown, write: (bytes: string) => void, frameMs = 16): Surface {
  let printed: Printed = nothingPrinted;
  /** The footer, and what lies over it for a while. */
  let footer: Painted | null = null;
  let whole: Painted | null = null;
  let { size } = state();
  let timer: Timer | null = null;
  let isAway = false;

  function draw(): void {
    if (timer === null && !isAway) timer = setTimeout(show, frameMs);
  }
  function show(): void {
    timer = null;
    const now = state();
    if (!Bun.deepEquals(now.size, size)) {
      footer &&= rewrapped(footer, now.size.columns);
      whole &&= { ...whole, rows: [] };
      ({ size } = now);
    }
    if (needsWhole(now)) {
      const next = paint(whole, { ...pictureOf(now), above: [], isWhole: true }, color);
      whole = next.painted;
      return write(next.bytes);
    }
    leaveWhole();
    const { rows: above, printed: nowPrinted } = rowsToPrint(now, printed);
    printed = nowPrinted;
    const next = paint(footer, { ...footerOf(now, printed), above, isWhole: false }, color);
    footer = next.painted;
    write(next.bytes);
  }
  function leaveWhole(): void {
    if (whole === null) return;
    write("\x1b[?1049l");
    whole = null;
    footer &&= { ...footer, rows: [] };
  }
  function stop(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    leaveWhole();
    write(cleared(footer));
    footer = null;
  }
  return {
    draw,
    redraw() {
      footer &&= { ...footer, rows: [] };
      whole &&= { ...whole, rows: [] };
      draw();
    },
    /** Someone else has the terminal until `back`. */
    away() {
      isAway = true;
      stop();
    },
    back() {
      isAway = false;
      draw();
    },
    close() {
      const now = state();
      stop();
      isAway = true;
      const { rows, printed: last } = rowsToPrint(now, printed);
      write([...rows, ...lastRows(now, last)].map((row) => `${rowText(row, color)}\r\n`).join(""));
    },
  };
}
