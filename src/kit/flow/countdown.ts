// A time limit that can be paused: the remaining time is the same after a pause as before it.
import { type Clock, systemClock } from "./clock.ts";
import type { Pausable } from "./pause-gate.ts";

/** Calls `onEnd` once after `limitMs`. Never calls it for null, or for more than the longest timer (24 days). */
export function startCountdown(limitMs: number | null, onEnd: () => void, clock: Clock = systemClock): Pausable & { clear: () => void } {
  let remainingMs = limitMs ?? Infinity;
  let resumedAt = clock.now();
  let cancelTimer: (() => void) | null = null;
  let isOver = false;

  function resume(): void {
    if (cancelTimer !== null || isOver) return;
    resumedAt = clock.now();
    cancelTimer = clock.setTimer(remainingMs, () => {
      isOver = true;
      onEnd();
    });
  }
  function pause(): void {
    if (cancelTimer === null) return;
    cancelTimer();
    cancelTimer = null;
    remainingMs = Math.max(0, remainingMs - (clock.now() - resumedAt));
  }
  function clear(): void {
    cancelTimer?.();
    isOver = true;
  }

  resume();
  return { pause, resume, clear };
}
