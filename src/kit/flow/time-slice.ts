// Work that takes longer than anyone should wait, as a generator that rests after every piece.

/** Whatever else is due comes between two pieces. */
export async function runInSlices<T>(work: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await yieldToEventLoop();
  }
}

/** Resolves after every timer, request and read that is due has run. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
