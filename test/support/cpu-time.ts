// Measures the processor time of skein and its descendants while they should be idle. Only test/soak and test/real use
// `quietestSecond`, because it waits for whole seconds.
import { readFileSync } from "node:fs";
import { childrenOf, type LivingProcess } from "./processes.ts";

/** Returns the clock ticks (10 ms) of a process and all its descendants. */
function ticksOf(pid: number): number {
  return [{ pid }, ...childrenOf(pid)].reduce((sum, each) => sum + ticksOfProcess(each), 0);
}

function ticksOfProcess({ pid }: Pick<LivingProcess, "pid">): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /s, "").split(" ");
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return 0;
  }
}

/** Returns the lowest use of at most 20 seconds. After a pause, work in progress may take a moment to stop. */
export async function quietestSecond(pid: number): Promise<number> {
  let lowest = Infinity;
  for (let round = 0; round < 20 && lowest > 1; round += 1) {
    const before = ticksOf(pid);
    await Bun.sleep(1_000);
    lowest = Math.min(lowest, ticksOf(pid) - before);
  }
  return lowest;
}

export async function until(isTrue: () => boolean | Promise<boolean>, condition: string, limitMs = 60_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await isTrue())) {
    if (performance.now() >= deadline) throw new Error(`not true after ${limitMs} ms: ${condition}`);
    await Bun.sleep(20);
  }
}
