// Reads the resident memory of a process.
import { readFileSync } from "node:fs";

/** 0 for a zombie, for a process that has ended, and without /proc: memory is then not limited. */
export function residentBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
