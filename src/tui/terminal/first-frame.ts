// Delays the first frame until the first session has been read, so that the screen of a new session does not flash before
// it. A key, or a session that takes long, ends the delay.
import type { UpdateMessage } from "../model/state.ts";

const maxDelayMs = 200;

export function createFirstFrame(draw: () => void) {
  let isDrawing = false;
  const startDrawing = () => {
    isDrawing = true;
    draw();
  };
  const timer = setTimeout(startDrawing, maxDelayMs);
  return {
    /** Draws the state after a message, unless the first frame still waits. */
    onMessage: ({ type }: UpdateMessage): void => {
      if (isDrawing) return draw();
      if (type !== "opened" && type !== "key" && type !== "paste") return;
      clearTimeout(timer);
      startDrawing();
    },
    close: () => clearTimeout(timer),
  };
}
