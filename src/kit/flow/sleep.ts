// Waiting: for a time that a signal can cut short, and for a condition that is polled.

/** Resolves after `ms`, or when the signal aborts. Never rejects: the caller checks the signal. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = (): void => resolve();
  const timer = setTimeout(wake, ms);
  signal.addEventListener("abort", wake, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
}

/** Calls `get` every 2 to 50 ms until it returns a value other than null or false. Returns its last value after `limitMs`. */
export async function pollUntil<T>(limitMs: number, get: () => Promise<T>): Promise<T> {
  const endsAt = performance.now() + limitMs;
  for (let waitMs = 2; ; waitMs = Math.min(waitMs * 2, 50)) {
    const value = await get();
    if ((value !== null && value !== false) || performance.now() >= endsAt) return value;
    await Bun.sleep(waitMs);
  }
}
