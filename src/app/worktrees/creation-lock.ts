// One process creates a worktree at a time. A lock of a process that has exited does not count.
import { linkSync, rmSync } from "node:fs";
import { createSafely, readSafely } from "../../kit/files/safe-file.ts";
import { processStartTime } from "../../kit/process/processes.ts";
import { Fault } from "../../protocol/api/error.ts";

const pollMs = 50;
const maxWaitMs = 600_000;

export async function withCreationLock<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  const deadline = performance.now() + maxWaitMs;
  while (!tryLock(file)) {
    if (performance.now() > deadline) throw new Fault("internal", `another process has been creating the worktree for too long: ${file}`);
    await Bun.sleep(pollMs);
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

function isLeftover(file: string): boolean {
  const [pid, started] = (readSafely(file, { maxBytes: 100, hasOtherNames: true })?.toString() ?? "").split(" ");
  return pid !== undefined && pid !== "" && processStartTime(Number(pid)) !== started;
}
