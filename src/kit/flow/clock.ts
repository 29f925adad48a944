// The time source of limits and timers. Code that waits takes a Clock, so that its tests need not sleep.
import { maxTimerMs } from "../text/duration.ts";

export type Clock = {
  /** Milliseconds since a fixed moment. Never goes back, unlike the time of day. */
  now: () => number;
  /** Calls `onDue` once after `ms`. Returns a function that cancels the timer. */
  setTimer: (ms: number, onDue: () => void) => () => void;
};

/** The time of day, for times that are compared across processes and restarts. It continues while the machine is suspended. */
export const wallClock: Clock = { now: () => Date.now(), setTimer: (ms, onDue) => systemClock.setTimer(ms, onDue) };

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(ms, onDue) {
    // The runtime would fire a longer timer at once, so a timer of more than 24 days is not started.
    if (ms > maxTimerMs) return () => {};
    const timer = setTimeout(onDue, ms);
    return () => clearTimeout(timer);
  },
};
