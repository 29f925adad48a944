// Combines the time limit, the idle limit and the cancellation of a turn into one signal with a reason.
import { type Clock, systemClock } from "../../kit/flow/clock.ts";
import { startCountdown } from "../../kit/flow/countdown.ts";
import { maxTimerMs } from "../../kit/text/duration.ts";
import { resumeCommand, type TurnError } from "../../protocol/api/error.ts";

export type Deadline = {
  signal: AbortSignal;
  /** Restarts the idle limit; called for every activity of the turn. */
  touch: () => void;
  /** Suspends the idle limit until the returned function is called. A sub-session has its own limit. */
  holdIdle: () => () => void;
  /** Suspends both limits. */
  pause: () => void;
  resume: () => void;
  cancel: () => void;
  /** Stops the turn for another reason than time or the user. */
  end: (error: TurnError) => void;
  /** The reason why the turn was stopped; null while it runs. */
  reason: () => TurnError | null;
  /** Ends all timers. Called when the turn has ended. */
  clear: () => void;
};

/** The reason that the signal aborts with. Sub-sessions read it and end for the same reason. */
class StopReason extends Error {
  readonly error: TurnError;

  constructor(error: TurnError) {
    super(error.message);
    this.error = error;
  }
}

type TimeLimits = { timeoutMs: number | null; idleMs: number | null };

export function createDeadline(limits: TimeLimits, parent: AbortSignal | null, clock: Clock = systemClock): Deadline {
  const controller = new AbortController();
  let reason: TurnError | null = null;
  const end = (error: TurnError): void => {
    if (reason !== null) return;
    reason = error;
    controller.abort(new StopReason(error));
  };
  const cancel = (): void => end({ kind: "cancelled", message: "the turn was stopped", hint: `continue with \`${resumeCommand}\`` });
  const onParentStop = (): void => {
    const parentReason: unknown = parent?.reason;
    if (!(parentReason instanceof StopReason) || parentReason.error.kind === "cancelled") return cancel();
    end({ ...parentReason.error, message: `the parent turn was stopped: ${parentReason.error.message}` });
  };
  const onTimeout = (): void => {
    const message = `the turn took longer than ${seconds(limits.timeoutMs ?? 0)}`;
    end({ kind: "timed-out", message, hint: `raise --timeout, or continue with \`${resumeCommand}\`` });
  };
  const total = startCountdown(limits.timeoutMs, onTimeout, clock);
  const idle = startIdleLimit(limits.idleMs, end, clock);
  let resumeIdle: (() => void) | null = null;
  if (parent?.aborted === true) onParentStop();
  parent?.addEventListener("abort", onParentStop, { once: true });

  return {
    signal: controller.signal,
    touch: idle.touch,
    holdIdle: idle.hold,
    pause() {
      if (resumeIdle !== null) return;
      resumeIdle = idle.hold();
      total.pause();
    },
    resume() {
      if (resumeIdle === null) return;
      resumeIdle();
      resumeIdle = null;
      total.resume();
    },
    cancel,
    end,
    reason: () => reason,
    clear() {
      total.clear();
      idle.clear();
      parent?.removeEventListener("abort", onParentStop);
    },
  };
}

function startIdleLimit(limitMs: number | null, end: (error: TurnError) => void, clock: Clock) {
  let touchedAt = clock.now();
  let holds = 0;
  const check = (limit: number): void => {
    if (holds > 0) touchedAt = clock.now();
    const idleMs = clock.now() - touchedAt;
    if (idleMs < limit) cancelTimer = clock.setTimer(Math.min(limit - idleMs, maxTimerMs), () => check(limit));
    else {
      const hint = `raise idle_timeout in the config, or continue with \`${resumeCommand}\``;
      end({ kind: "stalled", message: `no activity for ${seconds(limit)}`, hint });
    }
  };
  let cancelTimer = limitMs === null ? null : clock.setTimer(Math.min(limitMs, maxTimerMs), () => check(limitMs));
  return {
    touch: () => (touchedAt = clock.now()),
    hold: () => {
      holds++;
      return () => {
        holds--;
        touchedAt = clock.now();
      };
    },
    clear: () => cancelTimer?.(),
  };
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
