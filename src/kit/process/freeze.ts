// Pauses and resumes processes with SIGSTOP and SIGCONT.
import { descendantsOf, isStopped, processStartTime, sendSignal } from "./processes.ts";

const maxRounds = 100;

/**
 * Sends SIGSTOP to every process from `listPids`, until two scans find no new one.
 * Returns the pids it stopped. A process that was already stopped is not among them.
 */
export function freeze(listPids: () => number[]): number[] {
  const visited = new Set<number>();
  const frozen: number[] = [];
  // A scan takes time, and a process may fork during it. Only two scans without a new process are conclusive.
  for (let quiet = 0, round = 0; quiet < 2 && round < maxRounds; round += 1) {
    quiet += 1;
    for (const pid of listPids()) {
      if (visited.has(pid)) continue;
      visited.add(pid);
      quiet = 0;
      if (!isStopped(pid) && sendSignal(pid, "SIGSTOP")) frozen.push(pid);
    }
  }
  waitForStop(frozen);
  return frozen;
}

/** A process may still finish a write: SIGSTOP takes effect when it is scheduled next. Linux only, at most 100 ms. */
function waitForStop(pids: readonly number[]): void {
  if (process.platform !== "linux") return;
  const isRunning = (pid: number) => processStartTime(pid) !== null && !isStopped(pid);
  for (let round = 0; round < maxRounds && pids.some(isRunning); round += 1) Bun.sleepSync(1);
}

export function thaw(pids: readonly number[]): void {
  for (const pid of pids) sendSignal(pid, "SIGCONT");
}

/** Resumes a stopped process with its descendants, because a stopped process handles no signal. */
export function resumeIfStopped(pid: number): void {
  if (isStopped(pid)) thaw([...descendantsOf(pid), pid]);
}
