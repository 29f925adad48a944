// An async iterable whose reader can leave while it waits for the next item. A generator alone would hear of that only
// when it has one.

export function cancellable<T>(make: (left: AbortSignal) => AsyncGenerator<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const leaving = new AbortController();
      const items = make(leaving.signal);
      return {
        next: () => items.next(),
        return() {
          leaving.abort();
          return items.return(undefined);
        },
      };
    },
  };
}
