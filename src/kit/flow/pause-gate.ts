// A gate that stops work while the gate is paused. Pausing the gate also pauses everything that was added to it.

/** Both functions may be called any number of times and must not throw. */
export type Pausable = { pause: () => void; resume: () => void };

/** Like `Pausable`. `pause` may also return a promise that resolves when everything has stopped; it must not reject. */
export type PausableWork = { pause: () => void | Promise<void>; resume: () => void };

export class PauseGate {
  readonly #pausables = new Set<PausableWork>();
  /** Callers of `pause` that have not called `resume` yet. */
  readonly #holders = new Set<object>();
  /** Number of pauses so far. */
  pauseCount = 0;
  /** The results of the last pause. */
  #stopping: (void | Promise<void>)[] = [];
  /** Resolved by the next opening; null while the gate is open. */
  #paused: PromiseWithResolvers<void> | null = null;
  #isReleased = false;

  get isPaused(): boolean {
    return this.#paused !== null;
  }

  /** Pauses the gate until every holder that paused it has resumed it. */
  pause(holder: object = this): void {
    if (this.#isReleased) return;
    this.#holders.add(holder);
    if (this.#paused !== null) return;
    this.#paused = Promise.withResolvers();
    this.pauseCount += 1;
    this.#stopping = [...this.#pausables].map((pausable) => pausable.pause());
  }

  /** Resolves when everything that was added has stopped after the last pause. */
  async whenStopped(): Promise<void> {
    await Promise.all(this.#stopping);
  }

  resume(holder: object = this): void {
    this.#holders.delete(holder);
    if (this.#holders.size === 0) this.#open();
  }

  /** Resumes permanently: later pauses have no effect. A turn that is being stopped must run to clean up. */
  release(): void {
    this.#isReleased = true;
    this.#holders.clear();
    this.#open();
  }

  /** Pauses `pausable` at once if the gate is paused. Returns a function that removes `pausable` from the gate. */
  add(pausable: PausableWork): () => void {
    this.#pausables.add(pausable);
    if (this.isPaused) this.#stopping.push(pausable.pause());
    return () => this.#pausables.delete(pausable);
  }

  /** Returns a promise that resolves when the gate is open; null if it is open now. */
  whenOpen(): Promise<void> | null {
    return this.#paused === null ? null : this.#whenOpen();
  }

  async #whenOpen(): Promise<void> {
    // The gate may be paused again before this continues.
    while (this.#paused !== null) await this.#paused.promise;
  }

  #open(): void {
    const paused = this.#paused;
    if (paused === null) return;
    this.#paused = null;
    for (const pausable of this.#pausables) pausable.resume();
    paused.resolve();
  }
}

/** Returns a gate that is paused together with another gate. `add` adds a pausable to that other gate. */
export function createGateBehind(add: (pausable: PausableWork) => unknown): PauseGate {
  const gate = new PauseGate();
  const pause = (): Promise<void> => {
    gate.pause();
    return gate.whenStopped();
  };
  add({ pause, resume: () => gate.resume() });
  return gate;
}
