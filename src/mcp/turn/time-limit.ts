// Work that is not a turn and can't be collected later: it is done within the time that the caller waits, and the
// caller is told that it goes on.
import type { Caller } from "../tools/tool.ts";

const beatMs = 10_000;
/** What the answer needs to be on its way. */
const marginMs = 5_000;

export async function withTimeLimit<T>(
  caller: Caller,
  wish: { mostMs: number; doing: string },
  work: (limitMs: number) => Promise<T>,
): Promise<T> {
  const beat = setInterval(() => caller.progress?.(wish.doing), beatMs);
  try {
    return await work(Math.max(marginMs, Math.min(wish.mostMs, (caller.timeoutMs ?? Infinity) - marginMs)));
  } finally {
    clearInterval(beat);
  }
}
