// Notices when a protected path is replaced from outside. A mount protects the file that was there at the start: once a
// program such as `git config` renames a new file over it, the mount is gone and tools could write the new file.
import { type FSWatcher, lstatSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { StartedExecutor } from "../../executor/client.ts";
import type { Executor } from "../../protocol/api/ports.ts";
import { isRepository, worktreesElsewhere } from "../../sandbox/git-paths.ts";

export type GuardWatch = {
  /** Starts to watch. `onLost` is called once, with the path that was replaced, removed or moved. */
  start: (onLost: (path: string) => void) => void;
  /** A path that was replaced, removed or moved since the watch was created; null if there is none. */
  findLost: () => string | null;
  close: () => void;
};

/** For a file system or a kernel limit that allows no watch. */
const pollMs = 500;
const worktreesName = "worktrees";

/** git creates the directory of a worktree before its files, and only these tell who created it. */
const worktreeDelaysMs = [20, 100, 500, 2_000];

export type GuardWatchOptions = {
  /**
   * Directories and repositories that tools can write. A new worktree of such a repository counts as lost if its files are at
   * none of these places: its settings are not protected, and only a program outside can create it.
   */
  worktreesIn?: readonly string[] | undefined;
};

/** Create it before the sandbox is started, and start it afterwards. Nothing is watched until then. */
export function createGuardWatch(paths: string[], { worktreesIn = [] }: GuardWatchOptions = {}): GuardWatch {
  const identities = new Map(paths.map((path) => [path, identityOf(path)]));
  const repositories = worktreesIn.filter(isRepository);
  const listWorktrees = () => repositories.flatMap((repository) => worktreesElsewhere(repository, worktreesIn));
  // A worktree that is removed and added again has another identity.
  const keyOf = (path: string) => `${path} ${identityOf(path)}`;
  const knownWorktrees = new Set(listWorktrees().map(keyOf));
  const findNewWorktree = () => listWorktrees().find((path) => !knownWorktrees.has(keyOf(path)));
  const findLost = (candidates: Iterable<string>) =>
    [...candidates].find((path) => identityOf(path) !== identities.get(path)) ?? findNewWorktree();
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
      const watchDirectory = (directory: string, onChange: (name: string | null) => void): void => {
        try {
          const watcher = watch(directory, { persistent: false }, (_, name) => onChange(name));
          watcher.on("error", poll);
          watchers.push(watcher);
        } catch {
          poll();
        }
      };
      for (const [directory, inside] of Map.groupBy(identities.keys(), dirname))
        watchDirectory(directory, (name) => check(name === null ? inside : inside.filter((path) => basename(path) === name)));
      const checkWorktrees = () => worktreeDelaysMs.forEach((ms) => setTimeout(() => check([]), ms).unref());
      for (const repository of repositories) {
        const directory = join(repository, worktreesName);
        const follow = (): void => {
          if (lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return;
          watchDirectory(directory, checkWorktrees);
          checkWorktrees();
        };
        if (lstatSync(directory, { throwIfNoEntry: false }) === undefined)
          watchDirectory(repository, (name) => (name === worktreesName && !isClosed ? follow() : undefined));
        else follow();
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
  return `${path} was ${basename(dirname(path)) === worktreesName ? "created" : "replaced"} outside of the sandbox`;
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
