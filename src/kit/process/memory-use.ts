// Reads the resident memory of a process.
import { readFileSync } from "node:fs";

/** 0 if there is no /proc, so memory is then not limited. */
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
  for (let offset = 0; offset + 16 <= bytes.length; offset += 16) {
    if (bytes.readBigUInt64LE(offset) === pageSizeEntry) return Number(bytes.readBigUInt64LE(offset + 8));
  }
  return 4096;
}
