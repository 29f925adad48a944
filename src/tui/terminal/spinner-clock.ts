// Tells when the spinner moves. Frames of a stream move it too, so that the clock causes no frames of its own then.

/** How often the spinner moves. */
const intervalMs = 250;

/** `onTick` is called only if nothing else has moved the spinner since the last interval. */
export function createSpinnerClock(onTick: (now: number) => void) {
  let movedAt = 0;
  /** The time to show if the spinner is due, else null. */
  const take = (): number | null => {
    const now = Date.now();
    if (now - movedAt < intervalMs) return null;
    return (movedAt = now);
  };
  const timer = setInterval(() => {
    const now = take();
    if (now !== null) onTick(now);
  }, intervalMs);
  return { take, close: () => clearInterval(timer) };
}
