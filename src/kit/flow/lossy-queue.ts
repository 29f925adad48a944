// A bounded queue between one that must never wait and one reader that may be slow. What may be lost is dropped first;
// when the rest piles up too, the queue is emptied and the reader is told to look for itself.

export type LossyQueue<T> = {
  push: (item: T, worth: "kept" | "lossy") => void;
  end: () => void;
  /** What came since, in order. Empty and not lagging: it has ended. */
  next: () => Promise<{ items: T[]; lags: boolean }>;
  /** Something came, or it has ended; it is still there to be taken. */
  arrived: () => Promise<void>;
};

/** `everyMs`: what comes quickly is given in one piece after that time, so that many readers cost little. */
export type LossyQueueLimits = { lossy: number; kept: number; everyMs?: number };

const usual: LossyQueueLimits = { lossy: 1000, kept: 4000 };

export function createLossyQueue<T>(limits: LossyQueueLimits = usual): LossyQueue<T> {
  const { everyMs = 0 } = limits;
  let takenAt = -everyMs;
  let items: T[] = [];
  let lags = false;
  let hasEnded = false;
  let wake: (() => void) | null = null;
  const awaken = (): void => {
    wake?.();
    wake = null;
  };
  const arrived = async (): Promise<void> => {
    while (items.length === 0 && !lags && !hasEnded) await new Promise<void>((resolve) => (wake = resolve));
  };
  return {
    push(item, worth) {
      if (hasEnded || lags) return;
      if (worth === "lossy" && items.length >= limits.lossy) return;
      if (items.length >= limits.kept) {
        items = [];
        lags = true;
      } else items.push(item);
      awaken();
    },
    end() {
      hasEnded = true;
      awaken();
    },
    arrived,
    async next() {
      await arrived();
      const early = takenAt + everyMs - performance.now();
      if (early > 0 && !lags && !hasEnded) await Bun.sleep(early);
      takenAt = performance.now();
      const taken = { items, lags };
      items = [];
      lags = false;
      return taken;
    },
  };
}
