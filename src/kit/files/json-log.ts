// An append-only file of JSON lines, written by one process at a time. Opening it after a crash removes an incomplete
// last line.
import { closeSync, constants, fstatSync, ftruncateSync } from "node:fs";
import { openSafely, readUpTo, writeAll } from "./safe-file.ts";

export type JsonLog = {
  /** The values that the file had when it was opened. */
  lines: unknown[];
  append: (value: unknown) => void;
  close: () => void;
};

/** A line that is not JSON stays in the file and is reported to `warn`. */
export function openJsonLog(path: string, warn: (message: string) => void): JsonLog {
  const fd = openSafely(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND);
  const bytes = readUpTo(fd, fstatSync(fd).size);
  const completeBytes = bytes.lastIndexOf(10) + 1;
  if (completeBytes < bytes.length) ftruncateSync(fd, completeBytes);
  const texts = bytes.subarray(0, completeBytes).toString("utf8").split("\n").slice(0, -1);
  return {
    lines: texts.flatMap((text, index) => {
      try {
        return [JSON.parse(text) as unknown];
      } catch {
        warn(`${path}: line ${index + 1} is not JSON`);
        return [];
      }
    }),
    append: (value) => appendAll(fd, Buffer.from(`${JSON.stringify(value)}\n`)),
    close: () => closeSync(fd),
  };
}

function appendAll(fd: number, line: Uint8Array): void {
  const { size } = fstatSync(fd);
  try {
    writeAll(fd, line);
  } catch (error) {
    ftruncateSync(fd, size);
    throw error;
  }
}
