// What a native turn is about to use. Whether there is room for it is the engine's to say: others may draw on the same.
import { byteLength } from "../../../kit/text/cut-text.ts";
import { type TurnError, budgetUsedUp } from "../../../protocol/api/error.ts";
import type { UsageEstimate, Limits } from "../../../protocol/api/ports.ts";
import { zeroUsage } from "../../../protocol/tree/usage.ts";
import { bytesPerToken, requestTokens, lastCountedUsage } from "./request-size.ts";
import type { LoopState } from "../turn-state.ts";

/** Of an answer that nothing is known of. */
const usualOutput = 500;

export function stepLimitError(steps: number, { maxSteps }: Pick<Limits, "maxSteps">): TurnError | null {
  return steps >= maxSteps ? budgetUsedUp("steps", `${maxSteps} steps`) : null;
}

/** Goes by the last request: what was cached then is cached now, and the next answer is about as long. */
export async function estimateRequest(state: Pick<LoopState, "path" | "system" | "tools" | "model" | "input">): Promise<UsageEstimate> {
  const { path, system, tools, model, input } = state;
  const last = lastCountedUsage(path);
  const fixed = last === null ? Math.ceil((byteLength(system) + byteLength(JSON.stringify(tools))) / bytesPerToken) : 0;
  const asked = requestTokens(path) + fixed - (last?.cacheRead ?? 0) - (last?.cacheWrite ?? 0);
  const output = last?.output ?? usualOutput;
  const costUsd = input.limits.maxBudgetUsd === null ? null : await model.price({ ...zeroUsage, input: asked, output });
  return { tokens: asked + output, costUsd };
}
