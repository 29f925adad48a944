// A value that views can follow. A change renders the views that use it, once per frame.
import { useEffect, useState } from "preact/hooks";

export type Store<T> = {
  get: () => T;
  set: (value: T) => void;
  /** Calls `listener` after each change. Returns a function that ends it. */
  follow: (listener: () => void) => () => void;
};

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set: (next) => {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of listeners) listener();
    },
    follow: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The store's value in a component. */
export function useStore<T>(store: Store<T>): T {
  const [, render] = useState(0);
  useEffect(() => {
    const update = () => render((count) => count + 1);
    // The value may have changed between the first render and now.
    update();
    return store.follow(update);
  }, [store]);
  return store.get();
}

/** The time, renewed every `intervalMs` while the component is shown. */
export function useNow(intervalMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), intervalMs);
    return () => clearInterval(timer);
  }, [intervalMs]);
  return now;
}
