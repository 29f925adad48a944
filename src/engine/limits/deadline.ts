// Total and idle time limits of a turn, and its cancellation, as one signal with a reason.
import { type Clock, systemClock } from "../../kit/flow/clock.ts";
import { countdown } from "../../kit/flow/countdown.ts";
import { maxTimerMs } from "../../kit/text/duration.ts";
import type { TurnError } from "../../protocol/api/error.ts";

export type Deadline = {
  signal: AbortSignal;
  /** Something happened: the idle clock starts again. */
  touch: () => void;
  /** The idle clock stands still until what this gives back is called: a sub-session has a clock of its own. */
  holdIdle: () => () => void;
  /** Both clocks stand still. */
  pause: () => void;
  resume: () => void;
  cancel: () => void;
  /** Something else than time or a person ends it. */
  end: (why: TurnError) => void;
  /** Why the turn was stopped, or null. */
  reason: () => TurnError | null;
  clear: () => void;
};

/** What the signal of a turn that was stopped carries: what runs below it ends for the same reason. */
class Stopped extends Error {
  readonly why: TurnError;

  constructor(why: TurnError) {
    super(why.message);
    this.why = why;
  }
}

type TimeLimits = { timeoutMs: number | null; idleMs: number | null };

export function createDeadline(limits: TimeLimits, outer: AbortSignal | null, clock: Clock = systemClock): Deadline {
  const controller = new AbortController();
  let reason: TurnError | null = null;
  const end = (why: TurnError): void => {
    if (reason !== null) return;
    reason = why;
    controller.abort(new Stopped(why));
  };
  const cancel = (): void => end({ kind: "cancelled", message: "the turn was stopped", hint: "go on with --resume" });
  const follow = (): void => {
    const above: unknown = outer?.reason;
    if (!(above instanceof Stopped) || above.why.kind === "cancelled") return cancel();
    end({ ...above.why, message: `the turn above was stopped: ${above.why.message}` });
  };
  const total = startTotalLimit(limits.timeoutMs, end, clock);
  const idle = startIdleLimit(limits.idleMs, end, clock);
  let release: (() => void) | null = null;
  if (outer?.aborted === true) follow();
  outer?.addEventListener("abort", follow, { once: true });

  return {
    signal: controller.signal,
    touch: idle.touch,
    holdIdle: idle.hold,
    pause() {
      if (release !== null) return;
      release = idle.hold();
      total.pause();
    },
    resume() {
      if (release === null) return;
      release();
      release = null;
      total.resume();
    },
    cancel,
    end,
    reason: () => reason,
    clear() {
      total.clear();
      idle.clear();
      outer?.removeEventListener("abort", follow);
    },
  };
}

function startTotalLimit(limitMs: number | null, end: (why: TurnError) => void, clock: Clock) {
  const onEnd = (): void =>
    end({
      kind: "timed-out",
      message: `the turn took longer than ${seconds(limitMs ?? 0)}`,
      hint: "raise --timeout, or go on with --resume",
    });
  return countdown(limitMs, onEnd, clock);
}

function startIdleLimit(limitMs: number | null, end: (why: TurnError) => void, clock: Clock) {
  let touchedAt = clock.now();
  let holds = 0;
  const check = (limit: number): void => {
    if (holds > 0) touchedAt = clock.now();
    const quiet = clock.now() - touchedAt;
    if (quiet < limit) cancelTimer = clock.setTimer(Math.min(limit - quiet, maxTimerMs), () => check(limit));
    else
      end({
        kind: "stalled",
        message: `nothing happened for ${seconds(limit)}`,
        hint: "raise idle_timeout in the config, or go on with --resume",
      });
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
