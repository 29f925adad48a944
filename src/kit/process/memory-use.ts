// How much memory a process has in use.
import { readFileSync } from "node:fs";

/** 0 where there is no /proc: memory is then not limited. */
export function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * (pageBytes ??= pageSize());
  } catch {
    return 0;
  }
}

let pageBytes: number | undefined;
const pageSizeEntry = 6n;

function pageSize(): number {
  const bytes = readFileSync("/proc/self/auxv");
  for (let at = 0; at + 16 <= bytes.length; at += 16) {
    if (bytes.readBigUInt64LE(at) === pageSizeEntry) return Number(bytes.readBigUInt64LE(at + 8));
  }
  return 4096;
}
