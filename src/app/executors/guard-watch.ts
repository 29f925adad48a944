// Notices when a protected path is replaced from outside. A mount protects the file that was there at the start: once a
// program such as `git config` renames a new file over it, the mount is gone and tools could write the new file.
import { type FSWatcher, lstatSync, watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { StartedExecutor } from "../../executor/client.ts";
import type { Executor } from "../../protocol/api/ports.ts";

export type GuardWatch = {
  /** Starts to watch. `onLost` is called once, with the path that was replaced, removed or moved. */
  start: (onLost: (path: string) => void) => void;
  /** A path that was replaced, removed or moved since the watch was created; null if there is none. */
  findLost: () => string | null;
  close: () => void;
};

/** For a file system or a kernel limit that allows no watch. */
const pollMs = 500;

/** Create it before the sandbox is started, and start it afterwards. Nothing is watched until then. */
export function createGuardWatch(paths: string[]): GuardWatch {
  const identities = new Map(paths.map((path) => [path, identityOf(path)]));
  const findLost = (candidates: Iterable<string>) => [...candidates].find((path) => identityOf(path) !== identities.get(path));
  const watchers: FSWatcher[] = [];
  let timer: Timer | undefined;
  let isClosed = false;
  const close = (): void => {
    isClosed = true;
    clearInterval(timer);
    for (const watcher of watchers.splice(0)) watcher.close();
  };
  return {
    start(onLost) {
      const check = (candidates: Iterable<string>): void => {
        const lost = isClosed ? undefined : findLost(candidates);
        if (lost === undefined) return;
        close();
        onLost(lost);
      };
      const poll = (): void => {
        if (!isClosed) timer ??= setInterval(() => check(identities.keys()), pollMs).unref();
      };
      for (const [directory, inside] of Map.groupBy(identities.keys(), dirname)) {
        const onChange = (name: string | null): void => check(name === null ? inside : inside.filter((path) => basename(path) === name));
        try {
          const watcher = watch(directory, { persistent: false }, (_, name) => onChange(name));
          watcher.on("error", poll);
          watchers.push(watcher);
        } catch {
          poll();
        }
      }
      check(identities.keys());
    },
    findLost: () => findLost(identities.keys()) ?? null,
    close,
  };
}

/**
 * Ends the executor when a protected path is replaced, because its tools could write the new file. Later calls go to the
 * executor that `next` returns, whose sandbox protects the new file.
 */
export function guardExecutor(
  executor: StartedExecutor,
  guards: GuardWatch,
  { drop, next }: { drop: () => void; next: () => Executor },
): Executor {
  let isLost = false;
  const lose = (path: string): void => {
    if (isLost) return;
    isLost = true;
    executor.abort(`${lostGuardText(path)}; the call was stopped to keep it protected. Whether it had an effect is unknown. Run it again.`);
    drop();
  };
  guards.start(lose);
  const guarded = (): Executor => {
    const lost = guards.findLost();
    if (lost !== null) lose(lost);
    return isLost ? next() : executor;
  };
  return {
    callTool: (...call) => guarded().callTool(...call),
    openProgram: (...call) => guarded().openProgram(...call),
    close() {
      guards.close();
      return executor.close();
    },
  };
}

export function lostGuardText(path: string): string {
  return `${path} was replaced outside of the sandbox`;
}

/** Includes the creation time, because a new file may get the inode number of the removed one. */
function identityOf(path: string): string {
  try {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? "missing" : `${stat.dev}-${stat.ino}-${stat.birthtimeNs}`;
  } catch {
    return "missing"; // a parent is no longer a directory
  }
}
