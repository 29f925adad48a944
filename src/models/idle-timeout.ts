// Aborts a request when its owner aborts, or when the server is silent for too long.
// Time counts only while skein waits for bytes and the pause gate is open.
import { type Clock, systemClock } from "../kit/flow/clock.ts";
import { startCountdown } from "../kit/flow/countdown.ts";
import type { PauseGate } from "../kit/flow/pause-gate.ts";

export type IdleOptions = { idleMs: number | null; gate?: PauseGate; clock?: Clock };

export class IdleTimeout {
  hasFired = false;
  /** Aborts with the owner, or when the limit is reached. */
  readonly signal: AbortSignal;
  readonly #silence = new AbortController();
  readonly #options: IdleOptions;

  constructor(owner: AbortSignal, options: IdleOptions) {
    this.signal = AbortSignal.any([owner, this.#silence.signal]);
    this.#options = options;
  }

  /** Waits for `pending`, such as the response or its next chunk. Rejects when the limit is reached or the owner aborts. */
  async limit<T>(pending: Promise<T>): Promise<T> {
    const { idleMs, gate, clock = systemClock } = this.#options;
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(this.signal.reason);
    if (this.signal.aborted) onAbort();
    this.signal.addEventListener("abort", onAbort, { once: true });
    const countdown = startCountdown(idleMs, () => this.#fire(), clock);
    const removeFromGate = gate?.add(countdown);
    try {
      return await Promise.race([pending, promise]);
    } finally {
      countdown.clear();
      removeFromGate?.();
      this.signal.removeEventListener("abort", onAbort);
    }
  }

  #fire(): void {
    this.hasFired = true;
    this.#silence.abort(new Error("idle"));
  }
}
