// What a family of processes does while it should do nothing: the processor time that all of them have used.
import { readFileSync } from "node:fs";
import { childrenOf, type LivingProcess } from "./processes.ts";

/** Clock ticks (10 ms) by all processes of a skein, itself included. */
function ticksOf(pid: number): number {
  return [{ pid }, ...childrenOf(pid)].reduce((sum, each) => sum + ownTicks(each), 0);
}

function ownTicks({ pid }: Pick<LivingProcess, "pid">): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /s, "").split(" ");
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return 0;
  }
}

/** What the quietest of some seconds used: what was under way when it was told to stand still may take a moment. */
export async function quietestSecond(pid: number): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < 20 && least > 1; round += 1) {
    const before = ticksOf(pid);
    await Bun.sleep(1_000);
    least = Math.min(least, ticksOf(pid) - before);
  }
  return least;
}

export async function until(isTrue: () => boolean | Promise<boolean>, what: string, limitMs = 60_000): Promise<void> {
  const giveUpAt = performance.now() + limitMs;
  while (!(await isTrue())) {
    if (performance.now() >= giveUpAt) throw new Error(`it never came to this: ${what}`);
    await Bun.sleep(20);
  }
}
