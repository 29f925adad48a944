// Aborts a request when its owner aborts, or when the server is silent for too long.
// Time counts only while skein waits for bytes and the pause gate is open.
import { type Clock, systemClock } from "../kit/flow/clock.ts";
import { startCountdown } from "../kit/flow/countdown.ts";
import type { PauseGate } from "../kit/flow/pause-gate.ts";

export class IdleTimeout {
  hasFired = false;
  readonly #controller = new AbortController();
  readonly #owner: AbortSignal;
  readonly #idleMs: number | null;
  readonly #gate: PauseGate | null;
  readonly #clock: Clock;
  readonly #forward = (): void => this.#controller.abort(this.#owner.reason);

  constructor(owner: AbortSignal, { idleMs, gate, clock }: { idleMs: number | null; gate?: PauseGate; clock?: Clock }) {
    this.#owner = owner;
    this.#idleMs = idleMs;
    this.#gate = gate ?? null;
    this.#clock = clock ?? systemClock;
    if (owner.aborted) this.#forward();
    else owner.addEventListener("abort", this.#forward, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for a step of the request. Rejects when the limit is reached or the owner aborts. */
  async limit<T>(step: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(this.signal.reason);
    if (this.signal.aborted) onAbort();
    this.signal.addEventListener("abort", onAbort, { once: true });
    const clock = startCountdown(this.#idleMs, () => this.#fire(), this.#clock);
    const leaveGate = this.#gate?.add(clock);
    try {
      return await Promise.race([step, promise]);
    } finally {
      clock.clear();
      leaveGate?.();
      this.signal.removeEventListener("abort", onAbort);
    }
  }

  stop(): void {
    this.#owner.removeEventListener("abort", this.#forward);
    if (this.hasFired || this.#owner.aborted) this.#controller.abort();
  }

  #fire(): void {
    this.hasFired = true;
    this.#controller.abort(new Error("idle"));
  }
}
