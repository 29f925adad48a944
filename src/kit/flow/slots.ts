// A bound on how much runs at once; the rest waits in the order it came.

export type Slots = {
  /**
   * Resolves with the function that gives it back. What weighs more than there is takes all. Rejects with the signal's
   * reason when it aborts first.
   */
  take: (signal: AbortSignal, weight?: number) => Promise<() => void>;
};

export function createSlots(count: number): Slots {
  let free = count;
  const waiting: { weight: number; enter: () => void }[] = [];

  const taken = (weight: number): (() => void) => {
    let isGiven = false;
    free -= weight;
    return () => {
      if (isGiven) return;
      isGiven = true;
      free += weight;
      for (let next = waiting[0]; next !== undefined && next.weight <= free; next = waiting[0]) {
        waiting.shift();
        next.enter();
      }
    };
  };

  return {
    take: (signal, wanted = 1) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const weight = Math.min(wanted, count);
        if (waiting.length === 0 && weight <= free) return resolve(taken(weight));
        const leave = (): void => {
          waiting.splice(waiting.indexOf(place), 1);
          reject(signal.reason);
        };
        const enter = (): void => {
          signal.removeEventListener("abort", leave);
          resolve(taken(weight));
        };
        const place = { weight, enter };
        waiting.push(place);
        signal.addEventListener("abort", leave, { once: true });
      }),
  };
}
