// Writes a file in place: the same inode, so that mode, hard links and a grant on that one file stay. When the
// write fails half-way the old content is put back.
import { closeSync, constants, ftruncateSync, openSync, unlinkSync, writeSync } from "node:fs";

/** `before` is the old content, null for a file that does not exist, "unknown" when it was not kept. */
export function writeInPlace(path: string, content: Uint8Array, before: Uint8Array | null | "unknown"): void {
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | (before === null ? constants.O_CREAT : 0);
  const file = openSync(path, flags, 0o666);
  try {
    putAll(file, content);
  } catch (error) {
    takeBack(file, path, before);
    throw error;
  } finally {
    closeSync(file);
  }
}

function putAll(file: number, content: Uint8Array): void {
  let written = 0;
  while (written < content.length) written += writeSync(file, content, written, content.length - written, written);
  ftruncateSync(file, content.length);
}

function takeBack(file: number, path: string, before: Uint8Array | null | "unknown"): void {
  try {
    if (before === null) unlinkSync(path);
    else if (before !== "unknown") putAll(file, before);
  } catch {
    // The first error is the one to tell.
  }
}
