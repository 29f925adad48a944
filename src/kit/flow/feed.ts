// A queue between one or more producers and one reader, as one async iterable.
// It is unbounded: the producers must limit what they push.

export type Feed<T> = AsyncIterable<T> & {
  push: (item: T) => void;
  end: () => void;
  /** The reader first gets the items pushed before, then this error. */
  fail: (error: unknown) => void;
};

export function createFeed<T>(): Feed<T> {
  let items: T[] = [];
  let next = 0;
  let end: { error?: unknown } | null = null;
  let wake: (() => void) | null = null;

  const wakeReader = (): void => {
    wake?.();
    wake = null;
  };
  const finish = (ending: { error?: unknown }): void => {
    end ??= ending;
    wakeReader();
  };

  async function* read(): AsyncGenerator<T> {
    try {
      for (;;) {
        while (next < items.length) yield items[next++]!;
        items = [];
        next = 0;
        if (end && "error" in end) throw end.error;
        if (end) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      end ??= {};
      items = [];
    }
  }

  return {
    push: (item) => {
      if (end) return;
      items.push(item);
      wakeReader();
    },
    end: () => finish({}),
    fail: (error) => finish({ error }),
    [Symbol.asyncIterator]: read,
  };
}
