// A feed of another process, on the reading side. It is bounded: the other side sends at most `window` unconfirmed
// items, and gets a confirmation when some are read.

export type RemoteFeed<T> = AsyncIterableIterator<T> & {
  push: (item: T) => void;
  /** Ends the feed, with an error if it failed. Earlier items are read first. */
  end: (error?: unknown) => void;
};

export type RemoteFeedOptions = {
  /** Called with the number of items read since the last call. */
  onTook: (count: number) => void;
  /** Called if the reader stops before the end. */
  onLeft: () => void;
  window: number;
};

export function remoteFeed<T>({ onTook, onLeft, window }: RemoteFeedOptions): RemoteFeed<T> {
  let items: T[] = [];
  let readCount = 0;
  let unconfirmed = 0;
  let ending: { error: unknown } | null = null;
  let waiting: PromiseWithResolvers<IteratorResult<T>>[] = [];

  const settle = (reader: PromiseWithResolvers<IteratorResult<T>>): boolean => {
    if (readCount < items.length) {
      reader.resolve({ value: items[readCount++]!, done: false });
      unconfirmed += 1;
      if (readCount === items.length) [items, readCount] = [[], 0];
      if (unconfirmed >= window / 2 && ending === null) onTook(unconfirmed);
      if (unconfirmed >= window / 2) unconfirmed = 0;
    } else if (ending === null) return false;
    else if (ending.error === undefined) reader.resolve({ value: undefined, done: true });
    else {
      reader.reject(ending.error);
      ending = { error: undefined };
    }
    return true;
  };
  const wakeReaders = (): void => {
    waiting = waiting.filter((reader) => !settle(reader));
  };

  return {
    push(item) {
      if (ending !== null) return;
      items.push(item);
      wakeReaders();
    },
    end(error) {
      ending ??= { error };
      wakeReaders();
    },
    next() {
      const reader = Promise.withResolvers<IteratorResult<T>>();
      waiting.push(reader);
      wakeReaders();
      return reader.promise;
    },
    async return() {
      if (ending === null) onLeft();
      ending = { error: undefined };
      [items, readCount] = [[], 0];
      wakeReaders();
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
