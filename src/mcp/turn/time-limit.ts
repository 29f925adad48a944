// Runs work that is not a turn and can't be collected later. It must end within the caller's time limit; meanwhile the caller
// gets progress notifications.
import type { Caller } from "../tools/tool.ts";

const progressMs = 10_000;
/** Time to deliver the answer. */
const marginMs = 5_000;

export async function withTimeLimit<T>(
  caller: Caller,
  options: { maxMs: number; progress: string },
  work: (limitMs: number) => Promise<T>,
): Promise<T> {
  const timer = setInterval(() => caller.progress?.(options.progress), progressMs);
  try {
    return await work(Math.max(marginMs, Math.min(options.maxMs, (caller.timeoutMs ?? Infinity) - marginMs)));
  } finally {
    clearInterval(timer);
  }
}
