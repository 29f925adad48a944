// How many processes and how much memory commands may use together. Looked at only while one runs; what is over a
// limit is killed at once, with everything else that was started, and the calls under way are told why.
import { type Clock, systemClock } from "../kit/flow/clock.ts";
import type { Pausable } from "../kit/flow/pause-gate.ts";
import { descendantsOf, killAll } from "../kit/process/processes.ts";
import { residentBytes } from "../kit/process/memory-use.ts";
import { groupDigits } from "../kit/text/cut-text.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";

export type ResourceLimits = { watch: () => ResourceWatch };

/** For one call: aborted when a limit was crossed, `why` says which. Nothing is looked at while all are stopped. */
export type ResourceWatch = Pausable & { signal: AbortSignal; why: () => string | null };

type LimitValues = Pick<SandboxInfo, "maxProcesses" | "maxMemoryBytes">;

const everyMs = 500;

/** `members` are the processes that count, and that are ended. */
export function createResourceLimits(
  bounds: LimitValues,
  members: () => number[] = () => descendantsOf(process.pid),
  clock: Clock = systemClock,
): ResourceLimits {
  const watched = new Set<Watcher>();
  let cancelTimer: (() => void) | null = null;

  const look = (): void => {
    cancelTimer = clock.setTimer(everyMs, look);
    const pids = members();
    const why = crossed(pids, bounds);
    if (why === null) return;
    for (const watcher of watched) watcher.stop(why);
    // The first process of a namespace reaches every other one in it with one call, however fast they multiply. Started
    // by another process, it can be the first of nothing else.
    if (process.pid === 1) process.kill(-1, "SIGKILL");
    else killAll(members);
  };

  return {
    watch: () => {
      const watcher = new Watcher();
      const go = (): void => {
        watched.add(watcher);
        cancelTimer ??= clock.setTimer(everyMs, look);
      };
      const stop = (): void => {
        watched.delete(watcher);
        if (watched.size > 0) return;
        cancelTimer?.();
        cancelTimer = null;
      };
      go();
      return { signal: watcher.signal, why: () => watcher.why, pause: stop, resume: go };
    },
  };
}

class Watcher {
  why: string | null = null;
  readonly #controller = new AbortController();

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  stop(why: string): void {
    this.why ??= why;
    this.#controller.abort();
  }
}

function crossed(pids: number[], { maxProcesses, maxMemoryBytes }: LimitValues): string | null {
  // No limit, and what JSON makes of Infinity, are not numbers above 0.
  if (maxProcesses > 0 && pids.length > maxProcesses) return `stopped: more than ${groupDigits(maxProcesses)} processes`;
  if (maxMemoryBytes === null || !(maxMemoryBytes > 0)) return null;
  let bytes = 0;
  for (const pid of pids) bytes += residentBytes(pid);
  return bytes > maxMemoryBytes ? `stopped: more than ${groupDigits(Math.floor(maxMemoryBytes / 2 ** 20))} MB of memory` : null;
}
