// Pauses and resumes processes with SIGSTOP and SIGCONT.
import { threadsOf } from "./proc-files.ts";
import { descendantsOf, isStopped, processStartTime, processTable, sendSignal } from "./processes.ts";

/** A busy machine may take this long until each process has run once and stopped. */
const maxFreezeMs = 8_000;

/** `pids` were stopped now; a process that was stopped before is not among them. */
export type Frozen = { pids: number[]; /** Whether no process could run any more. */ isComplete: boolean };

/** Sends SIGSTOP to every process from `listPids`, until all have stopped and two scans after that find no new one. */
export function freeze(listPids: () => number[], maxMs = maxFreezeMs): Frozen {
  const visited = new Set<string>();
  const pids: number[] = [];
  const endsAt = performance.now() + maxMs;
  // A scan takes time, and a process may fork during it. Only two scans without a new process are conclusive.
  for (let quiet = 0; quiet < 2;) {
    quiet += 1;
    for (const pid of listPids()) {
      const identity = `${pid} ${processStartTime(pid)}`;
      if (visited.has(identity)) continue;
      visited.add(identity);
      quiet = 0;
      if (!isStopped(pid) && sendSignal(pid, "SIGSTOP")) pids.push(pid);
    }
    if (quiet > 0 && !waitForStop(pids, endsAt)) return { pids, isComplete: false };
    if (performance.now() > endsAt) return { pids, isComplete: false };
  }
  return { pids, isComplete: true };
}

/** A process may still finish a write: SIGSTOP takes effect when it is scheduled next. False if one still runs at `endsAt`. */
function waitForStop(pids: readonly number[], endsAt: number): boolean {
  // macOS shows no states of threads.
  if (process.platform !== "linux") return true;
  let running = [...pids];
  for (;;) {
    running = running.filter(canRun);
    if (running.length === 0) return true;
    if (performance.now() > endsAt) return false;
    Bun.sleepSync(1);
  }
}

function canRun(pid: number): boolean {
  const states = threadsOf(pid).map(({ state }) => state);
  if (states.every((state) => state === "T" || state === "t")) return false;
  return !states.includes("D") || states.some((state) => !"TtD".includes(state)) || !waitsForStoppedChild(pid);
}

/** After `vfork` the kernel lets a process wait for its child, and a stopped child never lets it continue. */
function waitsForStoppedChild(pid: number): boolean {
  return processTable().some(({ pid: child, parent }) => parent === pid && isStopped(child));
}

export function thaw(pids: readonly number[]): void {
  for (const pid of pids) sendSignal(pid, "SIGCONT");
}

/** Resumes a stopped process with its descendants, because a stopped process handles no signal. */
export function resumeIfStopped(pid: number): void {
  if (isStopped(pid)) thaw([...descendantsOf(pid), pid]);
}
