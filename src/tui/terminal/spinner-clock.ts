// Tells when the spinner moves. Frames of a stream move it too, so that the clock causes no frames of its own then.

/** How often the spinner moves. */
const intervalMs = 250;

/** `onTick` is called only if nothing else has moved the spinner since the last interval. */
export function createSpinnerClock(onTick: (now: number) => void) {
  let movedAt = 0;
  const takeAfter = (ms: number): number | null => {
    const now = Date.now();
    return now - movedAt < ms ? null : (movedAt = now);
  };
  const timer = setInterval(() => {
    const now = takeAfter(intervalMs);
    if (now !== null) onTick(now);
  }, intervalMs);
  return {
    /** The time to show with a frame that is drawn anyway. Null if the spinner has just moved. */
    take: () => takeAfter(intervalMs / 2),
    close: () => clearInterval(timer),
  };
}
