// An async iterable whose reader can leave while it waits for the next item. A plain generator would notice that only
// after its next item.

/** `createItems` gets a signal that aborts when the reader leaves. It is called once for each reader. */
export function cancellable<T>(createItems: (signal: AbortSignal) => AsyncGenerator<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const controller = new AbortController();
      const items = createItems(controller.signal);
      return {
        next: () => items.next(),
        return() {
          controller.abort();
          return items.return(undefined);
        },
      };
    },
  };
}
