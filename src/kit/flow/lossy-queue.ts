// A bounded queue between a producer that must not wait and one slow reader. Lossy items are dropped first.
// If required items exceed their limit too, the queue is emptied and the reader must read the state again.

export type LossyQueue<T> = {
  push: (item: T, importance: "required" | "lossy") => void;
  end: () => void;
  /**
   * Resolves with the items since the last call, in order. `lags: true` means that required items were dropped.
   * No items and `lags: false` mean that the queue has ended.
   */
  next: () => Promise<{ items: T[]; lags: boolean }>;
  /** Resolves when there are items or the queue has ended. Takes no item. */
  arrived: () => Promise<void>;
};

export type LossyQueueLimits = {
  /** A lossy item is dropped if this many items wait. */
  lossy: number;
  /** The queue is emptied if this many items wait and a required one is pushed. */
  required: number;
  /** Items are delivered at most once in this time, so that many readers cost little. */
  everyMs?: number;
};

const defaultLimits: LossyQueueLimits = { lossy: 1000, required: 4000 };

export function createLossyQueue<T>(limits: LossyQueueLimits = defaultLimits): LossyQueue<T> {
  const { everyMs = 0 } = limits;
  let deliveredAt = -everyMs;
  let items: T[] = [];
  let lags = false;
  let hasEnded = false;
  let wake: (() => void) | null = null;
  const wakeReader = (): void => {
    wake?.();
    wake = null;
  };
  const arrived = async (): Promise<void> => {
    while (items.length === 0 && !lags && !hasEnded) await new Promise<void>((resolve) => (wake = resolve));
  };
  return {
    push(item, importance) {
      if (hasEnded || lags) return;
      if (importance === "lossy" && items.length >= limits.lossy) return;
      if (items.length >= limits.required) {
        items = [];
        lags = true;
      } else items.push(item);
      wakeReader();
    },
    end() {
      hasEnded = true;
      wakeReader();
    },
    arrived,
    async next() {
      await arrived();
      const waitMs = deliveredAt + everyMs - performance.now();
      if (waitMs > 0 && !lags && !hasEnded) await Bun.sleep(waitMs);
      deliveredAt = performance.now();
      const delivery = { items, lags };
      items = [];
      lags = false;
      return delivery;
    },
  };
}
