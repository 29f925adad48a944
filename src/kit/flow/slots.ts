// Limits how much work runs at the same time: work takes slots of a fixed number. Other work waits in the order of arrival.

export type Slots = {
  /**
   * Takes `weight` slots, at most all of them. Resolves with a function that releases them.
   * Rejects with the signal's reason if it aborts first.
   */
  take: (signal: AbortSignal, weight?: number) => Promise<() => void>;
};

type Waiter = { weight: number; enter: () => void };

export function createSlots(count: number): Slots {
  let free = count;
  const waiters: Waiter[] = [];

  const occupy = (weight: number): (() => void) => {
    let isReleased = false;
    free -= weight;
    return () => {
      if (isReleased) return;
      isReleased = true;
      free += weight;
      for (let next = waiters[0]; next !== undefined && next.weight <= free; next = waiters[0]) {
        waiters.shift();
        next.enter();
      }
    };
  };

  return {
    take: (signal, requestedWeight = 1) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const weight = Math.min(requestedWeight, count);
        if (waiters.length === 0 && weight <= free) return resolve(occupy(weight));
        const leave = (): void => {
          waiters.splice(waiters.indexOf(waiter), 1);
          reject(signal.reason);
        };
        const enter = (): void => {
          signal.removeEventListener("abort", leave);
          resolve(occupy(weight));
        };
        const waiter: Waiter = { weight, enter };
        waiters.push(waiter);
        signal.addEventListener("abort", leave, { once: true });
      }),
  };
}
