// The executors of an app by their key. An executor stays open for the next turn of its session. Only the latest idle
// executors stay open, so that a hub does not collect one process for every session.
import { lazy } from "../../kit/flow/lazy.ts";
import type { Executor } from "../../protocol/api/ports.ts";

const maxIdle = 8;

export type ExecutorPool = {
  /** `root` is the topmost session that the executor works for. */
  get: (key: string, root: string, start: () => Executor) => Executor;
  /** Closes the executor of that key, so that the next `get` starts another one. Resolves when it has closed. */
  drop: (key: string) => Promise<void>;
  /** Closes all executors of a topmost session. */
  dropAll: (root: string) => Promise<void>;
  close: () => Promise<void>;
};

export function createExecutorPool(isBusy: (root: string) => boolean): ExecutorPool {
  const open = new Map<string, { root: string; executor: Executor }>();
  const closing = new Map<string, Promise<void>>();

  const startClosing = (key: string, executor: Executor): void => {
    open.delete(key);
    const closed = executor.close().finally(() => closing.get(key) === closed && closing.delete(key));
    closed.catch(() => {}); // `close` of the pool rejects with it
    closing.set(key, closed);
  };
  const closeIdle = (): void => {
    const idle = [...open].filter(([, { root }]) => !isBusy(root));
    for (const [key, { executor }] of idle.slice(0, -maxIdle)) startClosing(key, executor);
  };
  return {
    get(key, root, start) {
      const existing = open.get(key)?.executor;
      const previous = closing.get(key);
      const executor = existing ?? (previous === undefined ? start() : startAfter(previous, start));
      open.delete(key);
      open.set(key, { root, executor }); // a Map keeps the order of insertion, so the latest is last
      if (existing === undefined) closeIdle();
      return executor;
    },
    async drop(key) {
      const dropped = open.get(key);
      if (dropped !== undefined) startClosing(key, dropped.executor);
      await closing.get(key);
    },
    async dropAll(root) {
      const keys = [...open].filter(([, entry]) => entry.root === root).map(([key]) => key);
      for (const key of keys) startClosing(key, open.get(key)!.executor);
      await Promise.all(keys.map((key) => closing.get(key)));
    },
    close: async () => {
      await Promise.all([...closing.values(), ...[...open.values()].map(({ executor }) => executor.close())]);
    },
  };
}

/** Waits until the previous executor has closed. Both would use the same overlay directory. */
function startAfter(previous: Promise<void>, start: () => Executor): Executor {
  return executorOf(previous.then(start, start));
}

/** An executor that is being started. Its first call waits for it, and gets its error. */
export function executorOf(started: Promise<Executor>): Executor {
  started.catch(() => {});
  return lazy(() => started);
}
