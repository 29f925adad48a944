// Measures the memory of processes: mapped memory, and shared memory that no process has mapped.
import { readdirSync, readlinkSync, statfsSync, statSync } from "node:fs";
import { processDirectory, readText } from "./proc-files.ts";

/** 0 for a zombie, for a process that has ended, and without /proc: memory is then not limited. */
export function residentBytes(pid: number): number {
  return kilobytesAt(readText(`${processDirectory(pid)}/status`) ?? "", "VmRSS") * 1024;
}

/** Memory that belongs to these processes only: a temporary file system, and System V memory of an own IPC namespace. */
export type PrivateMemory = { tmpfs: string; hasSystemV: boolean };

/** The private memory of a process in another mount namespace; null if it has the /dev/shm of this process. */
export function privateMemoryOf(pid: number): PrivateMemory | null {
  const tmpfs = `/proc/${pid}/root/dev/shm`;
  try {
    return statSync(tmpfs).dev === statSync("/dev/shm").dev ? null : { tmpfs, hasSystemV: false };
  } catch {
    return null;
  }
}

/**
 * The memory of all processes together, in bytes. Files in memory are looked at only if the shared memory of the whole
 * machine could exceed `limit`, because that takes longer.
 */
export function memoryOf(pids: number[], limit: number, own: PrivateMemory | null): number {
  const statuses = pids.map((pid) => readText(`${processDirectory(pid)}/status`) ?? "");
  const sum = (field: string) => statuses.reduce((total, status) => total + kilobytesAt(status, field), 0) * 1024;
  const resident = sum("VmRSS");
  const sharedByAll = sharedBytesOfMachine();
  if (resident > limit || resident + sharedByAll <= limit) return resident;
  const mapped = sum("RssShmem");
  const unmapped =
    (memoryFileBytes(pids) ?? sharedByAll) + (own === null ? 0 : usedBytes(own.tmpfs) + (own.hasSystemV ? systemVBytes() : 0));
  // A file that is mapped would count twice.
  return resident - mapped + Math.max(mapped, Math.min(unmapped, sharedByAll));
}

/** The bytes of files in memory that the processes have open. Null if a process hides its files. */
function memoryFileBytes(pids: number[]): number | null {
  const files = new Map<number, number>();
  for (const pid of pids) {
    const names = openFiles(pid);
    if (names === null) return null;
    for (const name of names) {
      const path = `${processDirectory(pid)}/fd/${name}`;
      try {
        if (!readlinkSync(path).startsWith("/memfd:")) continue;
        const { ino, blocks } = statSync(path);
        files.set(ino, blocks * 512);
      } catch {
        // The file was closed during the scan.
      }
    }
  }
  return [...files.values()].reduce((total, bytes) => total + bytes, 0);
}

function openFiles(pid: number): string[] | null {
  try {
    return readdirSync(`${processDirectory(pid)}/fd`);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? null : [];
  }
}

/** Includes memory in swap, which tmpfs and memfd can use too. */
function sharedBytesOfMachine(): number {
  const memory = readText("/proc/meminfo") ?? "";
  return (kilobytesAt(memory, "Shmem") + kilobytesAt(memory, "SwapTotal") - kilobytesAt(memory, "SwapFree")) * 1024;
}

function usedBytes(directory: string): number {
  try {
    const { blocks, bfree, bsize } = statfsSync(directory);
    return (blocks - bfree) * bsize;
  } catch {
    return 0;
  }
}

/** Segments of System V in the IPC namespace of this process. */
function systemVBytes(): number {
  const lines = (readText("/proc/sysvipc/shm") ?? "").trim().split("\n").slice(1);
  return lines.reduce((total, line) => total + Number(line.trim().split(/\s+/)[14] ?? 0), 0);
}

/** The value of a line `Name:  123 kB`; 0 if there is none. */
function kilobytesAt(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0);
}
