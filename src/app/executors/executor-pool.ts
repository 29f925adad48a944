// The executors of a house, by what they are for. Those of sessions in which nothing runs are kept for the next turn, but
// only the latest: a client of the hub that stays would otherwise gather a process for every session it has ever used.
import type { Executor } from "../../protocol/api/ports.ts";

const mostIdle = 8;

export type ExecutorPool = {
  /** `root` is the topmost session that it works for. */
  get: (key: string, root: string, start: () => Executor) => Executor;
  close: () => Promise<void>;
};

export function createExecutorPool(isBusy: (root: string) => boolean): ExecutorPool {
  const kept = new Map<string, { root: string; executor: Executor }>();
  const leaving = new Map<string, Promise<void>>();

  const leave = (key: string, executor: Executor): void => {
    kept.delete(key);
    const gone = executor.close().finally(() => leaving.get(key) === gone && leaving.delete(key));
    gone.catch(() => {}); // whoever closes the house is told
    leaving.set(key, gone);
  };
  const leaveIdle = (): void => {
    const idle = [...kept].filter(([, { root }]) => !isBusy(root));
    for (const [key, { executor }] of idle.slice(0, -mostIdle)) leave(key, executor);
  };
  return {
    get(key, root, start) {
      const known = kept.get(key)?.executor;
      const before = leaving.get(key);
      const executor = known ?? (before === undefined ? start() : startedAfter(before, start));
      kept.delete(key);
      kept.set(key, { root, executor }); // the latest stands last
      if (known === undefined) leaveIdle();
      return executor;
    },
    close: async () => {
      await Promise.all([...leaving.values(), ...[...kept.values()].map(({ executor }) => executor.close())]);
    },
  };
}

/** Two that are for the same can't stand side by side: they would share their copies of files. */
function startedAfter(before: Promise<void>, start: () => Executor): Executor {
  const started = before.then(start, start);
  started.catch(() => {}); // whoever calls a tool is told
  return {
    callTool: async (...call) => (await started).callTool(...call),
    close: async () => (await started).close(),
  };
}
