// Paints the inline screen. Finished output scrolls up with the other output of the terminal.
import type { SurfaceOptions, Surface } from "../terminal/surface.ts";
import { blockCount } from "../model/transcript.ts";
import { renderFrame } from "../views/screen.ts";
import { clearFooter, paint, rewrapFrame, rowText, type PaintedFrame } from "./paint.ts";
import { renderFooter, blockRows, needsFullScreen, noPrintedBlocks, rowsToPrint, type PrintedBlocks } from "./frame.ts";

export function inlineSurface({ state, color }: SurfaceOptions, write: (bytes: string) => void, frameMs = 16): Surface {
  let printed: PrintedBlocks = noPrintedBlocks;
  /** The painted footer, and the alternate screen while it is used. */
  let footer: PaintedFrame | null = null;
  let fullScreen: PaintedFrame | null = null;
  let { size } = state();
  let timer: Timer | null = null;
  let isAway = false;

  function draw(): void {
    if (timer === null && !isAway) timer = setTimeout(paintNow, frameMs);
  }
  function paintNow(): void {
    timer = null;
    const now = state();
    if (!Bun.deepEquals(now.size, size)) {
      footer &&= rewrapFrame(footer, now.size.columns);
      fullScreen &&= { ...fullScreen, rows: [] };
      ({ size } = now);
    }
    if (needsFullScreen(now)) {
      const next = paint(fullScreen, { ...renderFrame(now), above: [], isFullScreen: true }, color);
      fullScreen = next.painted;
      return write(next.bytes);
    }
    leaveFullScreen();
    const { rows: above, printed: nowPrinted } = rowsToPrint(now, printed);
    printed = nowPrinted;
    const next = paint(footer, { ...renderFooter(now, printed), above, isFullScreen: false }, color);
    footer = next.painted;
    write(next.bytes);
  }
  function leaveFullScreen(): void {
    if (fullScreen === null) return;
    write("\x1b[?1049l");
    fullScreen = null;
    footer &&= { ...footer, rows: [] };
  }
  function stop(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    leaveFullScreen();
    write(clearFooter(footer));
    footer = null;
  }
  return {
    draw,
    redraw() {
      footer &&= { ...footer, rows: [] };
      fullScreen &&= { ...fullScreen, rows: [] };
      draw();
    },
    suspend() {
      isAway = true;
      stop();
    },
    resume() {
      isAway = false;
      draw();
    },
    close() {
      const now = state();
      stop();
      isAway = true;
      // Blocks that still change are printed as they are.
      const { rows, printed: last } = rowsToPrint(now, printed);
      write(
        [...rows, ...blockRows(now, { start: last.blocks, end: blockCount(now.transcript) })]
          .map((row) => `${rowText(row, color)}\r\n`)
          .join(""),
      );
    },
  };
}
