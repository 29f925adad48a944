// A feed of another process as it is read here. It is bounded: the other side sends only as many items ahead as it
// was allowed, and is told what was taken.

export type RemoteFeed<T> = AsyncIterableIterator<T> & {
  push: (item: T) => void;
  /** Without an error it has ended well. What came before is read first. */
  end: (error?: unknown) => void;
};

export type RemoteFeedOptions = {
  /** Items taken since it was last told. */
  took: (count: number) => void;
  /** The reader leaves before the end. */
  left: () => void;
  window: number;
};

export function remoteFeed<T>({ took, left, window }: RemoteFeedOptions): RemoteFeed<T> {
  let items: T[] = [];
  let taken = 0;
  let untold = 0;
  let ending: { error: unknown } | null = null;
  let waiting: PromiseWithResolvers<IteratorResult<T>>[] = [];

  const settle = (reader: PromiseWithResolvers<IteratorResult<T>>): boolean => {
    if (taken < items.length) {
      reader.resolve({ value: items[taken++]!, done: false });
      untold += 1;
      if (taken === items.length) [items, taken] = [[], 0];
      if (untold >= window / 2 && ending === null) took(untold);
      if (untold >= window / 2) untold = 0;
    } else if (ending === null) return false;
    else if (ending.error === undefined) reader.resolve({ value: undefined, done: true });
    else {
      reader.reject(ending.error);
      ending = { error: undefined };
    }
    return true;
  };
  const awaken = (): void => {
    waiting = waiting.filter((reader) => !settle(reader));
  };

  return {
    push(item) {
      if (ending !== null) return;
      items.push(item);
      awaken();
    },
    end(error) {
      ending ??= { error };
      awaken();
    },
    next() {
      const reader = Promise.withResolvers<IteratorResult<T>>();
      waiting.push(reader);
      awaken();
      return reader.promise;
    },
    async return() {
      if (ending === null) left();
      ending = { error: undefined };
      [items, taken] = [[], 0];
      awaken();
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
