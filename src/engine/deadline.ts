// Total and idle time limits of a turn, and its cancellation, as one signal with a reason.
import { longestTimerMs } from "../kit/duration.ts";
import type { TurnError } from "../protocol/error.ts";

export type Deadline = {
  signal: AbortSignal;
  /** Something happened: the idle clock starts again. */
  touch: () => void;
  /** The idle clock stands still until what this gives back is called: a sub-session has a clock of its own. */
  hold: () => () => void;
  /** Both clocks stand still. */
  stop: () => void;
  go: () => void;
  cancel: () => void;
  /** Why the turn was stopped, or null. */
  reason: () => TurnError | null;
  clear: () => void;
};

export function deadlineOf(limits: { timeoutMs: number | null; idleMs: number | null }, outer: AbortSignal | null): Deadline {
  const controller = new AbortController();
  let reason: TurnError | null = null;
  let touchedAt = Date.now();
  let holds = 0;
  let leftMs = limits.timeoutMs;
  let countedAt = Date.now();
  let total: ReturnType<typeof setTimeout> | null = null;
  let release: (() => void) | null = null;

  function stop(why: TurnError): void {
    if (reason !== null) return;
    reason = why;
    controller.abort(new Error(why.message));
  }
  function cancel(): void {
    stop({ kind: "cancelled", message: "the turn was stopped", hint: "go on with --resume" });
  }
  function checkIdle(): void {
    if (holds > 0) touchedAt = Date.now();
    const quiet = Date.now() - touchedAt;
    const limit = limits.idleMs as number;
    if (quiet >= limit)
      stop({
        kind: "stalled",
        message: `nothing happened for ${seconds(limit)}`,
        hint: "raise idle_timeout in the config, or go on with --resume",
      });
    else idle = setTimeout(checkIdle, Math.min(limit - quiet, longestTimerMs));
  }

  function hold(): () => void {
    holds++;
    return () => {
      holds--;
      touchedAt = Date.now();
    };
  }
  function timeOut(): void {
    stop({
      kind: "timed-out",
      message: `the turn took longer than ${seconds(limits.timeoutMs as number)}`,
      hint: "raise --timeout, or go on with --resume",
    });
  }
  function count(): void {
    countedAt = Date.now();
    if (leftMs !== null) total = setTimeout(timeOut, Math.min(leftMs, longestTimerMs));
  }

  count();
  let idle = limits.idleMs === null ? null : setTimeout(checkIdle, Math.min(limits.idleMs, longestTimerMs));
  if (outer?.aborted === true) cancel();
  outer?.addEventListener("abort", cancel, { once: true });

  return {
    signal: controller.signal,
    touch: () => (touchedAt = Date.now()),
    hold,
    stop() {
      if (release !== null) return;
      release = hold();
      if (total !== null) clearTimeout(total);
      if (leftMs !== null) leftMs = Math.max(0, leftMs - (Date.now() - countedAt));
    },
    go() {
      release?.();
      if (release !== null) count();
      release = null;
    },
    cancel,
    reason: () => reason,
    clear() {
      if (total !== null) clearTimeout(total);
      if (idle !== null) clearTimeout(idle);
      outer?.removeEventListener("abort", cancel);
    },
  };
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
