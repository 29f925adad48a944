// A gate that work passes while it is open. Shut, it also makes everything that was put behind it stand still.

export type Part = { stop: () => void; go: () => void };

export class Gate {
  readonly #parts = new Set<Part>();
  #shut: PromiseWithResolvers<void> | null = null;

  get isShut(): boolean {
    return this.#shut !== null;
  }

  shut(): void {
    if (this.#shut !== null) return;
    this.#shut = Promise.withResolvers();
    for (const part of this.#parts) part.stop();
  }

  open(): void {
    const shut = this.#shut;
    this.#shut = null;
    for (const part of this.#parts) part.go();
    shut?.resolve();
  }

  /** What comes while the gate is shut stands still at once. What is given back takes it away again. */
  add(part: Part): () => void {
    this.#parts.add(part);
    if (this.isShut) part.stop();
    return () => this.#parts.delete(part);
  }

  /** Null when nothing has to be waited for. */
  passed(): Promise<void> | null {
    return this.#shut?.promise ?? null;
  }
}
