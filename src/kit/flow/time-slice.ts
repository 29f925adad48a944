// Runs long synchronous work in slices, so that timers and other events run in between.

/** `work` yields after each slice. Resolves with its return value. */
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
