// Private directories of one process: input and output of git, files of a probe, homes of sandboxes that store nothing. They
// are below the data directory, which is hidden from tools. In /tmp, tools that may write /tmp could put links there.
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processStartTime } from "../../kit/process/processes.ts";

/** A process in another container may use the same directory, and its number means nothing here. */
const minAgeMs = 24 * 3_600_000;

/** Below /tmp if the data directory can't be written. */
export function createScratchDirectory(data: string): string {
  const parent = scratchRoot(data);
  try {
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    return realpathSync(mkdtempSync(join(parent, `${process.pid}-${processStartTime(process.pid)}-`)));
  } catch {
    return realpathSync(mkdtempSync(join(tmpdir(), "skein-")));
  }
}

/** Removes the directories that killed processes left, and the parents if nothing is in them. */
export function removeScratchLeftovers(data: string): void {
  const parent = scratchRoot(data);
  try {
    for (const name of readdirSync(parent)) if (isLeftover(parent, name)) rmSync(join(parent, name), { recursive: true, force: true });
    for (const directory of [parent, data]) rmdirSync(directory);
  } catch {
    // There is no such directory, or something is in it.
  }
}

function scratchRoot(data: string): string {
  return join(data, "scratch");
}

function isLeftover(parent: string, name: string): boolean {
  const [pid, startTime] = name.split("-");
  const age = Date.now() - statSync(join(parent, name)).mtimeMs;
  return age > minAgeMs && processStartTime(Number(pid)) !== startTime;
}
