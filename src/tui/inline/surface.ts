// Paints the state into the terminal's own screen: what is finished scrolls away with everything else that was printed there.
import type { SurfaceOptions, Surface } from "../terminal/surface.ts";
import { renderFrame } from "../views/screen.ts";
import { clearFooter, paint, rewrapFrame, rowText, type PaintedFrame } from "./paint.ts";
import { renderFooter, lastRows, needsFullScreen, noPrintedBlocks, rowsToPrint, type PrintedBlocks } from "./frame.ts";

export function inlineSurface({ state, color }: SurfaceOptions, write: (bytes: string) => void, frameMs = 16): Surface {
  let printed: PrintedBlocks = noPrintedBlocks;
  /** The footer, and what lies over it for a while. */
  let footer: PaintedFrame | null = null;
  let whole: PaintedFrame | null = null;
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
      footer &&= rewrapFrame(footer, now.size.columns);
      whole &&= { ...whole, rows: [] };
      ({ size } = now);
    }
    if (needsFullScreen(now)) {
      const next = paint(whole, { ...renderFrame(now), above: [], isWhole: true }, color);
      whole = next.painted;
      return write(next.bytes);
    }
    leaveWhole();
    const { rows: above, printed: nowPrinted } = rowsToPrint(now, printed);
    printed = nowPrinted;
    const next = paint(footer, { ...renderFooter(now, printed), above, isWhole: false }, color);
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
    write(clearFooter(footer));
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
