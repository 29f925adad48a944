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
  /** Rejects the current wait. One listener serves all waits, because an answer has thousands of chunks. */
  #reject: ((reason: unknown) => void) | null = null;

  constructor(owner: AbortSignal, options: IdleOptions) {
    this.signal = AbortSignal.any([owner, this.#silence.signal]);
    this.#options = options;
    this.signal.addEventListener("abort", () => this.#reject?.(this.signal.reason), { once: true });
  }

  /**
   * Waits for `pending`, such as the response or its next chunk. Rejects when the limit is reached or the owner aborts.
   * Only one wait at a time.
   */
  async limit<T>(pending: Promise<T>): Promise<T> {
    const { idleMs, gate, clock = systemClock } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#reject = reject;
    pending.then(resolve, reject);
    if (this.signal.aborted) reject(this.signal.reason);
    const countdown = startCountdown(idleMs, () => this.#fire(), clock);
    const removeFromGate = gate?.add(countdown);
    try {
      return await promise;
    } finally {
      countdown.clear();
      removeFromGate?.();
      this.#reject = null;
    }
  }

  #fire(): void {
    this.hasFired = true;
    this.#silence.abort(new Error("idle"));
  }
}
