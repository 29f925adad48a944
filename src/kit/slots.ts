// A bound on how many things run at once; the rest wait in the order they came.

export type Slots = {
  /** Resolves with the function that gives the slot back. Rejects with the signal's reason when it aborts first. */
  take: (signal: AbortSignal) => Promise<() => void>;
};

export function createSlots(count: number): Slots {
  let free = count;
  const waiting: (() => void)[] = [];

  const giveBack = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  const once = (): (() => void) => {
    let isGiven = false;
    return () => {
      if (isGiven) return;
      isGiven = true;
      giveBack();
    };
  };

  return {
    take: (signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (free > 0) {
          free -= 1;
          return resolve(once());
        }
        const leave = (): void => {
          waiting.splice(waiting.indexOf(enter), 1);
          reject(signal.reason);
        };
        const enter = (): void => {
          signal.removeEventListener("abort", leave);
          resolve(once());
        };
        waiting.push(enter);
        signal.addEventListener("abort", leave, { once: true });
      }),
  };
}
