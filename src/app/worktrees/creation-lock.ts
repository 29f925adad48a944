// One process creates a worktree at a time. A lock of a process that has exited does not count. The locks are in skein's state
// directory, which no tool can write: a lock in the project could be planted, and every turn would wait for it.
import { linkSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createSafely, readSafely } from "../../kit/files/safe-file.ts";
import { type Clock, systemClock } from "../../kit/flow/clock.ts";
import { processStartTime } from "../../kit/process/processes.ts";
import { Fault } from "../../protocol/api/error.ts";

const pollMs = 50;
/** A worktree of 50,000 files takes a few seconds. */
const limits = { reportMs: 2_000, maxWaitMs: 120_000 };

export type CreationLockOptions = {
  /** skein's state directory. */
  state: string;
  /** Called once if the wait takes more than a moment. */
  onWait: (message: string) => void;
  clock?: Clock;
};

/** `path` names the worktree. */
export async function withCreationLock<Result>(path: string, options: CreationLockOptions, work: () => Promise<Result>): Promise<Result> {
  const { state, onWait, clock = systemClock } = options;
  const directory = join(state, "worktree-locks");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, `${Bun.hash(path).toString(36)}.lock`);
  const startedAt = clock.now();
  let isReported = false;
  while (!tryLock(file)) {
    const waitedMs = clock.now() - startedAt;
    const holder = `process ${readHolder(file)?.pid ?? "?"}`;
    if (waitedMs > limits.maxWaitMs)
      throw new Fault("session-busy", `${holder} has been creating the worktree ${path} for too long`, {
        hint: `wait for that process or end it; if it does something else, remove ${file}`,
      });
    if (!isReported && waitedMs > limits.reportMs) onWait(`waits for ${holder}, which creates the worktree ${path}`);
    isReported ||= waitedMs > limits.reportMs;
    await new Promise<void>((resolve) => void clock.setTimer(pollMs, resolve));
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** The lock appears with its content, so that a killed process never leaves an empty one. */
function tryLock(file: string): boolean {
  if (isLeftover(file)) rmSync(file, { force: true });
  const own = `${file}.${process.pid}.${crypto.randomUUID()}`;
  createSafely(own, `${process.pid} ${processStartTime(process.pid)}`);
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

/** False if there is no lock: another process may create it now. */
function isLeftover(file: string): boolean {
  const holder = readHolder(file);
  return holder !== null && (Number.isNaN(holder.pid) || processStartTime(holder.pid) !== holder.started);
}

/** Null if there is no lock. The pid is not a number if the file names no process. */
function readHolder(file: string): { pid: number; started: string } | null {
  const content = readSafely(file, { maxBytes: 100, isCut: true, hasOtherNames: true })?.toString();
  const [, pid = "?", started = ""] = /^(\d+) (\S+)$/.exec(content ?? "") ?? [];
  return content === undefined ? null : { pid: Number(pid), started };
}
