// Measures functions in this process: the time of each run, and how long they block the event loop.

/** The milliseconds of each run, one after another. */
export async function times(count: number, act: () => Promise<unknown>): Promise<number[]> {
  const durations: number[] = [];
  for (let run = 0; run < count; run += 1) {
    const start = performance.now();
    await act();
    durations.push(performance.now() - start);
  }
  return durations;
}

const tickMs = 1;

/** `stop` returns the longest time in milliseconds for which the event loop was blocked. */
export function watchEventLoop(): { stop: () => number } {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last - tickMs);
    last = performance.now();
  }, tickMs);
  return {
    stop() {
      clearInterval(timer);
      return longest;
    },
  };
}
