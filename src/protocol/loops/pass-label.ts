// The place of a turn in its loop, as lists show it before the task.
import type { TurnLoop } from "../tree/turn.ts";

/** "pass 3 of 10: "; empty for a turn that is part of no loop. */
export function passLabel(loop: Pick<TurnLoop, "pass" | "maxRuns"> | undefined): string {
  if (loop === undefined) return "";
  return loop.pass === 0 ? "loop, first check: " : `pass ${loop.pass} of ${loop.maxRuns}: `;
}
