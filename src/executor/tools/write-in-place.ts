// Writes a file in place. The inode stays the same, and with it mode, hard links and a sandbox rule for that file.
// If the write fails half-way, the old content is restored.
import { closeSync, constants, ftruncateSync, openSync, unlinkSync, writeSync } from "node:fs";

/** Null for a file that does not exist, "unknown" for one that was not read. */
export type OldContent<Bytes extends Uint8Array = Uint8Array> = Bytes | null | "unknown";

export function writeInPlace(path: string, content: Uint8Array, before: OldContent): void {
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | (before === null ? constants.O_CREAT : 0);
  const file = openSync(path, flags, 0o666);
  try {
    writeAll(file, content);
  } catch (error) {
    restore(file, path, before);
    throw error;
  } finally {
    closeSync(file);
  }
}

function writeAll(file: number, content: Uint8Array): void {
  let written = 0;
  while (written < content.length) written += writeSync(file, content, written, content.length - written, written);
  ftruncateSync(file, content.length);
}

function restore(file: number, path: string, before: OldContent): void {
  try {
    if (before === null) unlinkSync(path);
    else if (before !== "unknown") writeAll(file, before);
  } catch {
    // The error of the write itself is the one to report.
  }
}
