// Adopts, ends and reaps processes that a measured run leaves, and counts their CPU time. Linux only.
// Without this a program that does not wait for its children would look cheaper than it is.
import { dlopen, FFIType, ptr } from "bun:ffi";
import { childrenOf, isZombie, processesWithEnv } from "./tree.ts";

const setChildSubreaper = 36;

type Libc = ReturnType<typeof openLibc>;
let libc: Libc | null = null;

/** Makes orphans of our children our children. */
export function adoptOrphans(): void {
  libc = openLibc();
  libc.symbols.prctl(setChildSubreaper, 1, 0, 0, 0);
}

/** Kills processes with the marker and reaps every child except `keep`. Returns their CPU time in ms. */
export async function endOrphans(marker: string, keep: number[]): Promise<{ cpuMs: number; killed: number }> {
  let cpuMs = 0;
  let killed = 0;
  for (let round = 0; round < 40; round += 1) {
    const children = childrenOf(process.pid).filter((pid) => !keep.includes(pid));
    const marked = processesWithEnv(marker);
    if (children.length === 0 && marked.length === 0) break;
    cpuMs += children.filter(isZombie).reduce((sum, pid) => sum + reap(pid), 0);
    // They have 100 ms to exit by themselves.
    if (round >= 10) for (const pid of marked) killed += kill(pid);
    await Bun.sleep(10);
  }
  return { cpuMs, killed };
}

function openLibc() {
  return dlopen("libc.so.6", {
    prctl: { args: [FFIType.i32, FFIType.u64, FFIType.u64, FFIType.u64, FFIType.u64], returns: FFIType.i32 },
    wait4: { args: [FFIType.i32, FFIType.ptr, FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
  });
}

function reap(pid: number): number {
  const status = new Int32Array(1);
  const usage = new BigInt64Array(18);
  if (libc === null || libc.symbols.wait4(pid, ptr(status), 1, ptr(usage)) !== pid) return 0;
  const [userS = 0n, userUs = 0n, systemS = 0n, systemUs = 0n] = usage;
  return Number(userS + systemS) * 1000 + Number(userUs + systemUs) / 1000;
}

function kill(pid: number): number {
  try {
    process.kill(pid, "SIGKILL");
    return 1;
  } catch {
    return 0;
  }
}
