// Limits how many processes and how much memory all commands use together. Checks while a command runs, and afterwards
// until its background processes have ended. Over a limit, every started process is killed at once, and the running
// calls report it.
import { type Clock, systemClock } from "../kit/flow/clock.ts";
import type { Pausable } from "../kit/flow/pause-gate.ts";
import { descendantsOf, killAll } from "../kit/process/processes.ts";
import { memoryOf, type PrivateMemory } from "../kit/process/memory-use.ts";
import { groupDigits } from "../kit/text/cut-text.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";

/** Paused while every session is paused: frozen processes use no more memory. */
export type ResourceLimits = Pausable & { watch: () => ResourceWatch };

/** The watch of one call. */
export type ResourceWatch = {
  /** Aborts when a limit is exceeded. Its reason is a text that names the limit. */
  signal: AbortSignal;
  /** The limit that processes exceeded after the last call, if no call has reported it yet. */
  earlier: string | null;
  end: () => void;
};

export type LimitValues = Pick<SandboxInfo, "maxProcesses" | "maxMemoryBytes">;

export type LimitOptions = {
  /** Returns the processes that are counted, and killed over a limit. */
  listPids?: () => number[];
  /** Memory that only these processes can use; null if there is none. */
  ownMemory?: () => PrivateMemory | null;
  clock?: Clock;
  intervalMs?: number;
};

export function createResourceLimits(limits: LimitValues, options: LimitOptions = {}): ResourceLimits {
  const { listPids = () => descendantsOf(process.pid), ownMemory = () => null, clock = systemClock, intervalMs = 500 } = options;
  const watches = new Set<AbortController>();
  let cancelTimer: (() => void) | null = null;
  let isPaused = false;
  let unreported: string | null = null;

  const schedule = (): void => {
    cancelTimer ??= isPaused ? null : clock.setTimer(intervalMs, check);
  };
  const check = (): void => {
    cancelTimer = null;
    const pids = listPids();
    if (watches.size === 0 && pids.length === 0) return;
    schedule();
    const why = exceededLimit(pids, limits, ownMemory);
    if (why === null) return;
    if (watches.size === 0) unreported = why;
    for (const watch of watches) watch.abort(why);
    // Process 1 of a pid namespace can signal all others in one call, however fast they fork. The executor is
    // started by another process, so pid 1 means that it is the first process of a namespace.
    if (process.pid === 1) process.kill(-1, "SIGKILL");
    else killAll(listPids);
  };

  return {
    pause: () => {
      isPaused = true;
      cancelTimer?.();
      cancelTimer = null;
    },
    resume: () => {
      isPaused = false;
      schedule();
    },
    watch: () => {
      const watch = new AbortController();
      const earlier = unreported;
      unreported = null;
      watches.add(watch);
      schedule();
      return { signal: watch.signal, earlier, end: () => void watches.delete(watch) };
    },
  };
}

function exceededLimit(
  pids: number[],
  { maxProcesses, maxMemoryBytes }: LimitValues,
  ownMemory: () => PrivateMemory | null,
): string | null {
  // JSON turns Infinity into null, which means no limit too.
  if (maxProcesses > 0 && pids.length > maxProcesses) return `stopped: more than ${groupDigits(maxProcesses)} processes`;
  if (maxMemoryBytes === null || !(maxMemoryBytes > 0)) return null;
  const bytes = memoryOf(pids, maxMemoryBytes, ownMemory());
  return bytes > maxMemoryBytes ? `stopped: more than ${groupDigits(Math.floor(maxMemoryBytes / 2 ** 20))} MB of memory` : null;
}
