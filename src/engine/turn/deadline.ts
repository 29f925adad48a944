// Total and idle time limits of a turn, and its cancellation, as one signal with a reason.
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

export function createDeadline(limits: { timeoutMs: number | null; idleMs: number | null }, outer: AbortSignal | null): Deadline {
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
  const total = totalClock(limits.timeoutMs, end);
  const idle = idleClock(limits.idleMs, end);
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

function totalClock(limitMs: number | null, end: (why: TurnError) => void) {
  return countdown(limitMs, () =>
    end({
      kind: "timed-out",
      message: `the turn took longer than ${seconds(limitMs ?? 0)}`,
      hint: "raise --timeout, or go on with --resume",
    }),
  );
}

function idleClock(limitMs: number | null, end: (why: TurnError) => void) {
  let touchedAt = Date.now();
  let holds = 0;
  const check = (limit: number): void => {
    if (holds > 0) touchedAt = Date.now();
    const quiet = Date.now() - touchedAt;
    if (quiet < limit) timer = setTimeout(check, Math.min(limit - quiet, maxTimerMs), limit);
    else
      end({
        kind: "stalled",
        message: `nothing happened for ${seconds(limit)}`,
        hint: "raise idle_timeout in the config, or go on with --resume",
      });
  };
  let timer = limitMs === null ? null : setTimeout(check, Math.min(limitMs, maxTimerMs), limitMs);
  return {
    touch: () => (touchedAt = Date.now()),
    hold: () => {
      holds++;
      return () => {
        holds--;
        touchedAt = Date.now();
      };
    },
    clear: () => timer !== null && clearTimeout(timer),
  };
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
