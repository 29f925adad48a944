// Limits how many processes and how much memory all commands use together. Checks only while a command runs.
// Over a limit, every started process is killed at once, and the running calls report the limit.
import { type Clock, systemClock } from "../kit/flow/clock.ts";
import type { Pausable } from "../kit/flow/pause-gate.ts";
import { descendantsOf, killAll } from "../kit/process/processes.ts";
import { residentBytes } from "../kit/process/memory-use.ts";
import { groupDigits } from "../kit/text/cut-text.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";

export type ResourceLimits = { watch: () => ResourceWatch };

/** The watch of one call. `signal` aborts when a limit is exceeded; its reason is a text that names the limit. */
export type ResourceWatch = Pausable & { signal: AbortSignal };

type LimitValues = Pick<SandboxInfo, "maxProcesses" | "maxMemoryBytes">;

const checkIntervalMs = 500;

/** `listPids` returns the processes that are counted, and killed over a limit. No check runs while every watch is paused. */
export function createResourceLimits(
  limits: LimitValues,
  listPids: () => number[] = () => descendantsOf(process.pid),
  clock: Clock = systemClock,
): ResourceLimits {
  const watches = new Set<AbortController>();
  let cancelTimer: (() => void) | null = null;

  const check = (): void => {
    cancelTimer = clock.setTimer(checkIntervalMs, check);
    const why = exceededLimit(listPids(), limits);
    if (why === null) return;
    for (const watch of watches) watch.abort(why);
    // Process 1 of a pid namespace can signal all others in one call, however fast they fork. The executor is
    // started by another process, so pid 1 means that it is the first process of a namespace.
    if (process.pid === 1) process.kill(-1, "SIGKILL");
    else killAll(listPids);
  };

  return {
    watch: () => {
      const watch = new AbortController();
      const resume = (): void => {
        watches.add(watch);
        cancelTimer ??= clock.setTimer(checkIntervalMs, check);
      };
      const pause = (): void => {
        watches.delete(watch);
        if (watches.size > 0) return;
        cancelTimer?.();
        cancelTimer = null;
      };
      resume();
      return { signal: watch.signal, pause, resume };
    },
  };
}

function exceededLimit(pids: number[], { maxProcesses, maxMemoryBytes }: LimitValues): string | null {
  // JSON turns Infinity into null, which means no limit too.
  if (maxProcesses > 0 && pids.length > maxProcesses) return `stopped: more than ${groupDigits(maxProcesses)} processes`;
  if (maxMemoryBytes === null || !(maxMemoryBytes > 0)) return null;
  let bytes = 0;
  for (const pid of pids) bytes += residentBytes(pid);
  return bytes > maxMemoryBytes ? `stopped: more than ${groupDigits(Math.floor(maxMemoryBytes / 2 ** 20))} MB of memory` : null;
}
