// Opens files in places that tools can write. No component of the path may be a link, and the file must be a regular
// file of this user with one name. Everything after that uses the descriptor, so a later swap of the path has no effect.
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  type Stats,
  writeSync,
} from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { yieldToEventLoop } from "../flow/time-slice.ts";
import { realPath, statPath } from "./path-status.ts";

/** The path is not what skein would have created there. The message has no path. */
export class UnsafePathError extends Error {
  override name = "UnsafePathError";
}

export type SafeOpenOptions = {
  /** Mode of a file that is created. */
  mode?: number;
  /** Users that may own the file. Default: this user. */
  owners?: readonly number[];
  /** Whether the file may have more than one name. Default: no, because a write would change a file elsewhere. */
  hasOtherNames?: boolean;
  /** An open directory that a relative path starts at. */
  from?: SafeDirectory;
};

/** An open directory. It stays the same if its path is replaced. `path` reaches it without the path's components. */
export type SafeDirectory = { file: number; path: string; close: () => void };

export type SafeReadOptions = Omit<SafeOpenOptions, "mode"> & {
  maxBytes: number;
  /** Reads the head of a file with more than `maxBytes`. Otherwise such a file is unsafe. */
  isCut?: boolean;
};

/** Kernel flags that node:fs does not name: O_PATH and O_CLOEXEC of Linux, O_NOFOLLOW_ANY of macOS. */
const pathOnly = 0o10000000;
const closeOnExec = 0o2000000;
const noLinksAnywhere = 0x2000_0000;

const isLinux = process.platform === "linux";
const directoryFlags = isLinux ? pathOnly | constants.O_DIRECTORY : constants.O_RDONLY | constants.O_DIRECTORY;

/**
 * Opens a regular file. `path` must be absolute and normalized. Throws UnsafePathError for a link, a pipe, a second hard
 * link or another owner; other errors, such as ENOENT, are those of `open`. Never waits for the other end of a pipe.
 */
export function openSafely(path: string, flags: number, options: SafeOpenOptions = {}): number {
  const file = openWithoutLinks(path, flags | constants.O_NONBLOCK, { mode: options.mode ?? 0o600, from: options.from });
  try {
    const problem = problemOf(fstatSync(file), options);
    if (problem !== null) throw new UnsafePathError(problem);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** The content; null if there is no such file. */
export function readSafely(path: string, { maxBytes, isCut = false, ...options }: SafeReadOptions): Buffer | null {
  return readAndClose(() => openSafely(path, constants.O_RDONLY, options), { maxBytes, isCut });
}

/**
 * Reads a file below `root`, such as a file of a project. Links are followed as long as they stay below `root`. The real
 * path is then opened without links, so a swap after the check is refused. Hard links are allowed: tools can read them, too.
 */
export function readBelow(root: string, path: string, limits: Pick<SafeReadOptions, "maxBytes" | "isCut">): Buffer | null {
  // Most files are missing, and a status costs less than an exception.
  if (statPath(path) === undefined) return null;
  const realRoot = realPath(root);
  const real = realPath(path);
  if (realRoot === null || real === null) return null;
  if (!real.startsWith(realRoot === sep ? sep : realRoot + sep)) throw new UnsafePathError(`it leads out of ${root}`);
  return readSafely(real, { ...limits, owners: ownersFor(statSync(realRoot)), hasOtherNames: true });
}

/** Reads a file that the user named, at any path and of any owner. Refuses pipes and devices instead of waiting. */
export function readRegularFile(path: string, limits: Pick<SafeReadOptions, "maxBytes" | "isCut">): Buffer | null {
  return statPath(path) === undefined ? null : readAndClose(() => openRegularFile(path), limits);
}

/** Opens a file that the user named for reading. */
export function openRegularFile(path: string): number {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | closeOnExec);
  const stat = fstatSync(file);
  if (stat.isFile()) return file;
  closeSync(file);
  throw new UnsafePathError(stat.isDirectory() ? "it is a directory" : "it is not a regular file");
}

/** Creates a file that does not exist. Returns false if something has that name. */
export function createSafely(path: string, text: string | Uint8Array, mode = 0o600): boolean {
  let file: number;
  try {
    file = openSafely(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, { mode });
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
  try {
    writeAll(file, text);
    return true;
  } finally {
    closeSync(file);
  }
}

/**
 * Writes a file completely or not at all: a temporary file in the same directory, then a rename. A replaced file keeps its
 * mode. Throws if a directory of the path is a link, or if the name belongs to anything else than a regular file. `write`
 * gets the open temporary file.
 */
export async function replaceSafely(path: string, write: (file: number) => void | Promise<void>, mode = 0o600): Promise<void> {
  const replacement = openReplacement(path, mode);
  try {
    await write(replacement.file);
    replacement.commit();
  } finally {
    replacement.close();
  }
}

/** Like `replaceSafely`, for a short text. */
export function replaceTextSafely(path: string, text: string, mode = 0o600): void {
  const replacement = openReplacement(path, mode);
  try {
    writeAll(replacement.file, text);
    replacement.commit();
  } finally {
    replacement.close();
  }
}

/** `close` removes the temporary file, unless it was committed. */
function openReplacement(path: string, mode: number): { file: number; commit: () => void; close: () => void } {
  const directory = openWithoutLinks(dirname(path), directoryFlags);
  const inDirectory = (name: string) => (isLinux ? childPath(directory, name) : `${dirname(path)}/${name}`);
  const target = inDirectory(basename(path));
  const temporary = inDirectory(`.${basename(path).slice(0, 100)}.${process.pid}-${crypto.randomUUID()}.tmp`);
  try {
    const existing = lstatSync(target, { throwIfNoEntry: false });
    if (existing !== undefined && !existing.isFile()) throw new UnsafePathError("it is not a regular file");
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | closeOnExec;
    const file = openSync(temporary, flags, mode);
    if (existing !== undefined) fchmodSync(file, existing.mode & 0o777);
    return {
      file,
      commit: () => {
        fsyncSync(file);
        renameSync(temporary, target);
      },
      close: () => {
        closeSync(file);
        rmSync(temporary, { force: true });
        closeSync(directory);
      },
    };
  } catch (error) {
    closeSync(directory);
    throw problemOfOpen(error, path);
  }
}

export function writeAll(file: number, text: string | Uint8Array): void {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
}

/** The content of an open file in chunks, from its beginning. */
export async function* readChunks(file: number): AsyncGenerator<Buffer> {
  for (let position = 0; ; await yieldToEventLoop()) {
    const chunk = Buffer.allocUnsafe(256 << 10);
    const count = readSync(file, chunk, 0, chunk.length, position);
    if (count === 0) return;
    position += count;
    yield chunk.subarray(0, count);
  }
}

/** Creates the directories of a path that are missing. Throws if a component is a link or no directory. */
export function makeDirectorySafely(path: string, mode = 0o700): void {
  if (!isLinux) {
    mkdirSync(path, { recursive: true, mode });
    closeSync(openWithoutLinks(path, directoryFlags));
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
  } catch (error) {
    throw problemOfOpen(error, path);
  } finally {
    closeSync(directory);
  }
}

/** Opens a directory without following links. `path` is absolute; as bytes it need not be UTF-8. */
export function openDirectorySafely(path: string | Buffer): SafeDirectory {
  const file = openWithoutLinks(path, directoryFlags);
  return { file, path: isLinux ? `/proc/self/fd/${file}` : path.toString(), close: () => closeSync(file) };
}

/**
 * Calls `act` with a path of the directory that stays the same if the directory is replaced meanwhile. Throws if a component of
 * `path` is a link.
 */
export function inDirectory<Result>(path: string, act: (directory: string) => Result): Result {
  const directory = openDirectorySafely(path);
  try {
    return act(directory.path);
  } finally {
    directory.close();
  }
}

/** Removes a file, or a directory with its content. Throws if a directory of the path is a link. A link itself is removed. */
export function removeSafely(path: string): void {
  nullIfMissing(() => inDirectory(dirname(path), (parent) => rmSync(join(parent, basename(path)), { recursive: true, force: true })));
}

/** Renames a file. Throws if a directory of one of the paths is a link. */
export function renameSafely(from: string, to: string): void {
  inDirectory(dirname(from), (source) =>
    inDirectory(dirname(to), (target) => renameSync(join(source, basename(from)), join(target, basename(to)))),
  );
}

/** Users whose files in `directory` are as trustworthy as our own: this user, root, and the owner of the directory. */
export function ownersFor(directory: Stats): number[] {
  return [ownUid(), 0, directory.uid];
}

function readAndClose(open: () => number, { maxBytes, isCut = false }: Pick<SafeReadOptions, "maxBytes" | "isCut">): Buffer | null {
  const file = nullIfMissing(open);
  if (file === null) return null;
  try {
    const { size } = fstatSync(file);
    if (size > maxBytes && !isCut) throw new UnsafePathError(`it has ${size} bytes; the limit is ${maxBytes}`);
    return readUpTo(file, Math.min(size, maxBytes));
  } finally {
    closeSync(file);
  }
}

function openOrMake(parent: number, name: string, mode: number): number {
  const path = childBytes(parent, name);
  try {
    return openDirectory(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  return openDirectory(path);
}

/**
 * Opens component by component. Each step starts at the descriptor of the last one (Linux has it as a directory in /proc),
 * so the parents can't be swapped in between. macOS checks all components in one call.
 */
function openWithoutLinks(path: string | Buffer, flags: number, { mode, from }: Pick<SafeOpenOptions, "mode" | "from"> = {}): number {
  try {
    if (!isLinux) {
      const absolute = from === undefined ? path : join(from.path, path.toString());
      return openSync(absolute, flags | constants.O_NOFOLLOW | noLinksAnywhere, mode);
    }
    const parts = partsOf(from === undefined ? path : `/${path.toString()}`);
    const name = parts.pop();
    let directory = openSync(from?.path ?? sep, pathOnly | constants.O_DIRECTORY | closeOnExec);
    try {
      for (const part of parts) {
        const next = openDirectory(childBytes(directory, part));
        closeSync(directory);
        directory = next;
      }
      return name === undefined ? directory : openSync(childBytes(directory, name), flags | constants.O_NOFOLLOW | closeOnExec, mode);
    } finally {
      if (name !== undefined) closeSync(directory);
    }
  } catch (error) {
    throw problemOfOpen(error, path.toString());
  }
}

function openDirectory(path: Buffer): number {
  return openSync(path, pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW | closeOnExec);
}

function childPath(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`;
}

/** `name` has one character for each byte. */
function childBytes(directory: number, name: string): Buffer {
  return Buffer.from(childPath(directory, name), "latin1");
}

/** The components, with one character for each byte. */
function partsOf(path: string | Buffer): string[] {
  const text = (typeof path === "string" ? Buffer.from(path) : path).toString("latin1");
  const parts = text.split(sep).slice(1);
  if (!text.startsWith(sep) || parts.some((part) => part === "." || part === ".."))
    throw new Error(`${path.toString()} is not an absolute path`);
  return parts.filter((part) => part !== "");
}

function problemOf(stat: Stats, { owners = [ownUid()], hasOtherNames = false }: SafeOpenOptions): string | null {
  if (!stat.isFile()) return "it is not a regular file";
  if (stat.nlink !== 1 && !hasOtherNames) return "it has a second name (a hard link)";
  return owners.includes(stat.uid) ? null : "it belongs to another user";
}

/** `open` answers ELOOP for a link as file, and ENOTDIR for a link as directory. A pipe without a reader answers ENXIO. */
function problemOfOpen(error: unknown, path: string): unknown {
  const reason = openProblems[codeOf(error) ?? ""];
  if (reason !== undefined) return new UnsafePathError(reason);
  // Otherwise the message has a path with the number of a descriptor.
  if (error instanceof Error) error.message = error.message.replace(/'\/proc\/self\/fd\/.*'$/s, `'${path}'`);
  return error;
}

const openProblems: Record<string, string> = {
  ELOOP: "it is a symbolic link",
  ENOTDIR: "a directory of its path is a link or a file",
  EISDIR: "it is a directory",
  ENXIO: "it is not a regular file",
};

/** The first bytes of an open file. */
export function readUpTo(file: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  let length = 0;
  while (length < bytes) {
    const count = readSync(file, buffer, length, bytes - length, length);
    if (count === 0) break;
    length += count;
  }
  return buffer.subarray(0, length);
}

function nullIfMissing<Result>(open: () => Result): Result | null {
  try {
    return open();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
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
