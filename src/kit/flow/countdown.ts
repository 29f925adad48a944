// A time limit that can stand still: what is left of it when it is stopped is left when it goes on.
import { maxTimerMs } from "../text/duration.ts";
import type { Pausable } from "./pause-gate.ts";

/** Null and what no timer can hold is no limit. */
export function countdown(limitMs: number | null, onEnd: () => void): Pausable & { clear: () => void } {
  let leftMs = limitMs ?? Infinity;
  let goneAt = performance.now();
  let timer: Timer | undefined;
  let isOver = false;

  function go(): void {
    if (timer !== undefined || isOver) return;
    goneAt = performance.now();
    if (leftMs > maxTimerMs) return;
    timer = setTimeout(() => {
      isOver = true;
      onEnd();
    }, leftMs);
  }
  function stop(): void {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    leftMs = Math.max(0, leftMs - (performance.now() - goneAt));
  }
  function clear(): void {
    clearTimeout(timer);
    isOver = true;
  }

  go();
  return { pause: stop, resume: go, clear };
}
