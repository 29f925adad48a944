// A file of JSON lines that only grows, written by one process at a time. Opened again after a crash it ends with its
// last whole line.
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";

export type JsonLog = {
  /** What it held when it was opened. */
  lines: unknown[];
  append: (value: unknown) => void;
  close: () => void;
};

/** A line that is no JSON is left where it is, and told. */
export function openJsonLog(path: string, warn: (message: string) => void): JsonLog {
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW, 0o600);
  const bytes = readFileSync(fd);
  const whole = bytes.lastIndexOf(10) + 1;
  if (whole < bytes.length) ftruncateSync(fd, whole);
  const texts = bytes.subarray(0, whole).toString("utf8").split("\n").slice(0, -1);
  return {
    lines: texts.flatMap((text, at) => {
      try {
        return [JSON.parse(text) as unknown];
      } catch {
        warn(`${path}: line ${at + 1} is no JSON`);
        return [];
      }
    }),
    append: (value) => appendWhole(fd, Buffer.from(`${JSON.stringify(value)}\n`)),
    close: () => closeSync(fd),
  };
}

function appendWhole(fd: number, line: Uint8Array): void {
  const { size } = fstatSync(fd);
  try {
    for (let rest = line; rest.length > 0;) rest = rest.subarray(writeSync(fd, rest));
  } catch (error) {
    ftruncateSync(fd, size);
    throw error;
  }
}
