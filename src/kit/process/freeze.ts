// Makes processes stand still and lets them go on, by signals that none of them can refuse. Ends nothing.
import { descendantsOf, isStopped } from "./processes.ts";

const mostRounds = 100;

/** Stops what `find` finds until nothing more is born. Gives back those it stopped: who stood still before stays so. */
export function freeze(find: () => number[]): number[] {
  const seen = new Set<number>();
  const frozen: number[] = [];
  // A table is not read in one moment: it takes two without a new one to be sure.
  for (let quiet = 0, round = 0; quiet < 2 && round < mostRounds; round += 1) {
    quiet += 1;
    for (const pid of find()) {
      if (seen.has(pid)) continue;
      seen.add(pid);
      quiet = 0;
      if (!isStopped(pid) && send(pid, "SIGSTOP")) frozen.push(pid);
    }
  }
  return frozen;
}

export function thaw(pids: readonly number[]): void {
  for (const pid of pids) send(pid, "SIGCONT");
}

/** A process that was stopped hears nothing until it goes on, with all below it. */
export function wake(pid: number): void {
  if (isStopped(pid)) thaw([...descendantsOf(pid), pid]);
}

/** False for one that has ended, or is not ours. */
function send(pid: number, name: "SIGSTOP" | "SIGCONT"): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}
