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
  let isSuspended = false;

  function draw(): void {
    if (timer === null && !isSuspended) timer = setTimeout(paintNow, frameMs);
  }
  function paintNow(): void {
    timer = null;
    const current = state();
    if (!Bun.deepEquals(current.size, size)) {
      footer &&= rewrapFrame(footer, current.size.columns);
      fullScreen &&= { ...fullScreen, rows: [] };
      ({ size } = current);
    }
    if (needsFullScreen(current)) {
      const next = paint(fullScreen, { ...renderFrame(current), above: [], isFullScreen: true }, color);
      fullScreen = next.painted;
      return write(next.bytes);
    }
    leaveFullScreen();
    const { rows: above, printed: nextPrinted } = rowsToPrint(current, printed);
    printed = nextPrinted;
    const next = paint(footer, { ...renderFooter(current, printed), above, isFullScreen: false }, color);
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
      isSuspended = true;
      stop();
    },
    resume() {
      isSuspended = false;
      draw();
    },
    close() {
      const current = state();
      stop();
      isSuspended = true;
      // Blocks that still change are printed as they are.
      const { rows, printed: finished } = rowsToPrint(current, printed);
      write(
        [...rows, ...blockRows(current, { start: finished.blocks, end: blockCount(current.transcript) })]
          .map((row) => `${rowText(row, color)}\r\n`)
          .join(""),
      );
    },
  };
}
