// Opens files in places that tools can write. No component of the path may be a link, and the file must be a regular
// file of this user with one name. Everything after that uses the descriptor, so a later swap of the path has no effect.
import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync, type Stats } from "node:fs";
import { sep } from "node:path";

/** The path is not what skein would have created there. The message has no path. */
export class UnsafePathError extends Error {
  override name = "UnsafePathError";
}

export type SafeOpenOptions = {
  /** Mode of a file that is created. */
  mode?: number;
  /** Users that may own the file. Default: this user. */
  owners?: readonly number[];
};

/** Kernel flags that node:fs does not name: O_PATH and O_CLOEXEC of Linux, O_NOFOLLOW_ANY of macOS. */
const pathOnly = 0o10000000;
const closeOnExec = 0o2000000;
const noLinksAnywhere = 0x2000_0000;

const isLinux = process.platform === "linux";

/**
 * Opens a regular file. `path` must be absolute and normalized. Throws UnsafePathError for a link, a pipe, a second hard
 * link or another owner; other errors, such as ENOENT, are those of `open`. Never waits for the other end of a pipe.
 */
export function openSafely(path: string, flags: number, { mode = 0o600, owners = [ownUid()] }: SafeOpenOptions = {}): number {
  const file = openWithoutLinks(path, flags | constants.O_NONBLOCK, mode);
  try {
    const problem = problemOf(fstatSync(file), owners);
    if (problem !== null) throw new UnsafePathError(problem);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** The content; null if there is no such file. A file with more than `maxBytes` is unsafe, unless `isCut` allows its head. */
export function readSafely(
  path: string,
  { maxBytes, isCut = false, owners }: { maxBytes: number; isCut?: boolean; owners?: readonly number[] },
): Buffer | null {
  let file: number;
  try {
    file = openSafely(path, constants.O_RDONLY, owners === undefined ? {} : { owners });
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  try {
    const { size } = fstatSync(file);
    if (size > maxBytes && !isCut) throw new UnsafePathError(`it has ${size} bytes; the limit is ${maxBytes}`);
    return readUpTo(file, Math.min(size, maxBytes));
  } finally {
    closeSync(file);
  }
}

/** Creates the directories of a path that are missing. Throws if a component is a link or no directory. */
export function makeDirectorySafely(path: string, mode = 0o700): void {
  if (!isLinux) {
    mkdirSync(path, { recursive: true, mode });
    closeSync(openWithoutLinks(path, constants.O_RDONLY | constants.O_DIRECTORY));
    return;
  }
  const parts = partsOf(path);
  let directory = openSync(sep, pathOnly | constants.O_DIRECTORY | closeOnExec);
  try {
    for (const part of parts) {
      const next = openOrMake(directory, part, mode);
      closeSync(directory);
      directory = next;
    }
  } finally {
    closeSync(directory);
  }
}

/** Users whose files in `directory` are as trustworthy as our own: ours, and for root also its owner. */
export function ownersFor(directory: Stats): number[] {
  const own = ownUid();
  return own === 0 ? [own, directory.uid] : [own];
}

function openOrMake(parent: number, name: string, mode: number): number {
  const path = childPath(parent, name);
  try {
    return openDirectory(path);
  } catch (error) {
    if (!isMissing(error)) throw linkProblem(error);
  }
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  try {
    return openDirectory(path);
  } catch (error) {
    throw linkProblem(error);
  }
}

/**
 * Opens component by component. Each step starts at the descriptor of the last one (Linux has it as a directory in /proc),
 * so the parents can't be swapped in between. macOS checks all components in one call.
 */
function openWithoutLinks(path: string, flags: number, mode?: number): number {
  try {
    if (!isLinux) return openSync(path, flags | constants.O_NOFOLLOW | noLinksAnywhere, mode);
    const parts = partsOf(path);
    const name = parts.pop();
    let directory = openSync(sep, pathOnly | constants.O_DIRECTORY | closeOnExec);
    try {
      for (const part of parts) {
        const next = openDirectory(childPath(directory, part));
        closeSync(directory);
        directory = next;
      }
      return name === undefined ? directory : openSync(childPath(directory, name), flags | constants.O_NOFOLLOW | closeOnExec, mode);
    } finally {
      if (name !== undefined) closeSync(directory);
    }
  } catch (error) {
    throw linkProblem(error);
  }
}

function openDirectory(path: string): number {
  return openSync(path, pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW | closeOnExec);
}

function childPath(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`;
}

function partsOf(path: string): string[] {
  const parts = path.split(sep).slice(1);
  if (!path.startsWith(sep) || parts.some((part) => part === "." || part === "..")) throw new Error(`${path} is not an absolute path`);
  return parts.filter((part) => part !== "");
}

function problemOf(stat: Stats, owners: readonly number[]): string | null {
  if (!stat.isFile()) return "it is not a regular file";
  if (stat.nlink !== 1) return "it has a second name (a hard link)";
  return owners.includes(stat.uid) ? null : "it belongs to another user";
}

/** `open` answers ELOOP for a link as file, and ENOTDIR for a link as directory. A pipe without a reader answers ENXIO. */
function linkProblem(error: unknown): unknown {
  const code = codeOf(error);
  if (code === "ELOOP") return new UnsafePathError("it is a link");
  if (code === "ENOTDIR") return new UnsafePathError("a directory of its path is a link or a file");
  return code === "ENXIO" ? new UnsafePathError("it is not a regular file") : error;
}

function readUpTo(file: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  let length = 0;
  while (length < bytes) {
    const count = readSync(file, buffer, length, bytes - length, length);
    if (count === 0) break;
    length += count;
  }
  return buffer.subarray(0, length);
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === "ENOENT";
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

function ownUid(): number {
  return process.getuid?.() ?? 0;
}
