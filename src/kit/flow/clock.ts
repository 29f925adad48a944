// The time source of limits and timers. Code that waits takes a Clock, so that its tests need not sleep.
import { maxTimerMs } from "../text/duration.ts";

export type Clock = {
  /** Milliseconds since a fixed moment. Never goes back, so it is no time of day. */
  now: () => number;
  /** Calls `onDue` once after `ms`. Returns a function that cancels it. */
  setTimer: (ms: number, onDue: () => void) => () => void;
};

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(ms, onDue) {
    // A longer timer would fire at once. One that would fire in 24 days or later never fires.
    if (ms > maxTimerMs) return () => {};
    const timer = setTimeout(onDue, ms);
    return () => clearTimeout(timer);
  },
};
