// A queue between one or more producers and one reader: parallel things merge into one async iterable.
// It holds whatever is pushed; whoever pushes bounds it.

export type Feed<T> = AsyncIterable<T> & {
  push: (item: T) => void;
  end: () => void;
  /** The reader gets what was pushed before, then this error. */
  fail: (error: unknown) => void;
};

type Ending = { error?: unknown; isFailure: boolean };

export function createFeed<T>(): Feed<T> {
  let items: T[] = [];
  let next = 0;
  let ending: Ending | null = null;
  let wake: (() => void) | null = null;

  const awaken = (): void => {
    wake?.();
    wake = null;
  };
  const finish = (how: Ending): void => {
    ending ??= how;
    awaken();
  };

  async function* read(): AsyncGenerator<T> {
    try {
      for (;;) {
        while (next < items.length) {
          yield items[next++]!;
        }
        items = [];
        next = 0;
        if (ending?.isFailure) throw ending.error;
        if (ending) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      ending ??= { isFailure: false };
      items = [];
    }
  }

  return {
    push: (item) => {
      if (ending) return;
      items.push(item);
      awaken();
    },
    end: () => finish({ isFailure: false }),
    fail: (error) => finish({ isFailure: true, error }),
    [Symbol.asyncIterator]: read,
  };
}
