// A gate that work passes while nobody holds it shut. Shut, it also makes everything that was put behind it stand still.

/** Both are called any number of times and never throw. */
export type Pausable = { pause: () => void; resume: () => void };

export class PauseGate {
  readonly #parts = new Set<Pausable>();
  readonly #holders = new Set<object>();
  /** How often it has been shut so far. */
  pauseCount = 0;
  #shut: PromiseWithResolvers<void> | null = null;
  #isReleased = false;

  get isPaused(): boolean {
    return this.#shut !== null;
  }

  /** It stays shut until everyone who shut it has opened it. */
  pause(holder: object = this): void {
    if (this.#isReleased) return;
    this.#holders.add(holder);
    if (this.#shut !== null) return;
    this.#shut = Promise.withResolvers();
    this.pauseCount += 1;
    for (const part of this.#parts) part.pause();
  }

  resume(holder: object = this): void {
    this.#holders.delete(holder);
    if (this.#holders.size === 0) this.#open();
  }

  /** Open for good, whoever held it: what stands still could not be ended in order. */
  release(): void {
    this.#isReleased = true;
    this.#holders.clear();
    this.#open();
  }

  /** What comes while the gate is shut stands still at once. What is given back takes it away again. */
  add(part: Pausable): () => void {
    this.#parts.add(part);
    if (this.isPaused) part.pause();
    return () => this.#parts.delete(part);
  }

  /** Null when nothing has to be waited for. */
  whenOpen(): Promise<void> | null {
    return this.#shut === null ? null : this.#whenOpen();
  }

  async #whenOpen(): Promise<void> {
    while (this.#shut !== null) await this.#shut.promise;
  }

  #open(): void {
    const shut = this.#shut;
    if (shut === null) return;
    this.#shut = null;
    for (const part of this.#parts) part.resume();
    shut.resolve();
  }
}

/** A gate that is shut while the one that `add` puts it behind is. */
export function createGateBehind(add: (part: Pausable) => unknown): PauseGate {
  const gate = new PauseGate();
  add({ pause: () => gate.pause(), resume: () => gate.resume() });
  return gate;
}
