// Collects garbage while the process waits for an answer of a model, when it has nothing else to do. Otherwise Bun collects
// late, and the garbage of requests and answers stays in memory for dozens of calls.
import { systemClock, type Clock } from "../flow/clock.ts";

/** An answer that comes sooner is not delayed. */
const quietMs = 100;
/** A request and its answer leave about one megabyte. */
const requestsBetween = 5;
/** A process with many turns at once does not collect for each of them. */
const leastMsBetween = 2_000;

export class IdleCollection {
  readonly #collect: () => void;
  readonly #clock: Clock;
  #requests = 0;
  #lastAt = -leastMsBetween;

  constructor(collect: () => void = () => Bun.gc(true), clock: Clock = systemClock) {
    this.#collect = collect;
    this.#clock = clock;
  }

  /** Call it when a request is sent. The returned function must be called when its answer begins or fails. */
  begin(): () => void {
    this.#requests += 1;
    if (this.#requests < requestsBetween) return () => {};
    return this.#clock.setTimer(quietMs, () => {
      if (this.#clock.now() - this.#lastAt < leastMsBetween) return;
      this.#lastAt = this.#clock.now();
      this.#requests = 0;
      this.#collect();
    });
  }
}
