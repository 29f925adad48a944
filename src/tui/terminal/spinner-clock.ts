// Decides when the spinner moves. A frame of a stream moves it too, so the clock draws a frame of its own only without them.

/** How often the spinner moves. */
const intervalMs = 250;

/** `onTick` is called only if nothing else has moved the spinner since the last interval. */
export function createSpinnerClock(onTick: (now: number) => void) {
  let movedAt = 0;
  const moveAfter = (ms: number): number | null => {
    const now = Date.now();
    return now - movedAt < ms ? null : (movedAt = now);
  };
  const timer = setInterval(() => {
    const now = moveAfter(intervalMs);
    if (now !== null) onTick(now);
  }, intervalMs);
  return {
    /** Moves the spinner in a frame that is drawn anyway. Returns the time to show; null if the spinner has just moved. */
    move: () => moveAfter(intervalMs / 2),
    close: () => clearInterval(timer),
  };
}
