// Private directories of one process: input and output of git, files of a probe, homes of sandboxes that store nothing. They
// are below the data directory, which is hidden from tools. In /tmp, tools that may write /tmp could put links there.
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmdirSync, rmSync, statSync } from "node:fs";
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
    for (const name of readdirSync(parent)) if (isLeftover(parent, name)) removePrivateDirectory(join(parent, name));
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

/** The temporary directories of sessions, by the id of the topmost one. */
export function sessionTemps(data: string): string {
  return join(data, "tmp");
}

const maxTempAgeMs = 7 * 24 * 3_600_000;

/** Removes the temporary directories that no turn has used for a week. */
export function removeOldTemps(data: string): void {
  const parent = sessionTemps(data);
  const names = existsSync(parent) ? readdirSync(parent) : [];
  for (const name of names) {
    const usedAt = statSync(join(parent, name, "files"), { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - usedAt > maxTempAgeMs) removePrivateDirectory(join(parent, name));
  }
}

/** A directory that can't be removed is left for a later attempt. */
export function removePrivateDirectory(directory: string): void {
  try {
    makeAccessible(directory);
    rmSync(directory, { recursive: true, force: true });
  } catch {
    // A file in it is still in use.
  }
}

/** Removes the copies of one executor, which has ended. */
export function removeCopies(copies: string): void {
  try {
    openWorkDirectories([copies]);
    rmSync(copies, { recursive: true, force: true });
  } catch {
    // A process of it is still ending. The daily removal takes the rest.
  }
}

export function makeAccessible(directory: string): void {
  openWorkDirectories(entriesOf(join(directory, "copies")));
}

/** overlayfs leaves work directories without permissions, which could not be deleted. */
function openWorkDirectories(copies: string[]): void {
  const works = copies
    .flatMap(entriesOf)
    // A file is beside the overlays, and Bun throws for a path below a file.
    .filter(isDirectory)
    .flatMap((overlay) => entriesOf(join(overlay, "work")));
  for (const work of works.filter(isDirectory)) chmodSync(work, 0o700);
}

/** A tool may have left links, which must not be followed. */
function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function entriesOf(path: string): string[] {
  return isDirectory(path) ? readdirSync(path).map((name) => join(path, name)) : [];
}
