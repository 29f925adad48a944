// Estimates the usage of the next request. The engine decides whether the budget covers it: other turns share that budget.
import { bytesPerToken } from "../../../kit/text/bytes-per-token.ts";
import { byteLength } from "../../../kit/text/cut-text.ts";
import { type TurnError, budgetUsedUp } from "../../../protocol/api/error.ts";
import type { UsageEstimate } from "../../../protocol/api/ports.ts";
import type { Limits } from "../../../protocol/api/turn-options.ts";
import { zeroUsage } from "../../../protocol/tree/usage.ts";
import { estimateRequestTokens, lastCountedUsage } from "./request-size.ts";
import type { LoopState } from "../turn-state.ts";

/** Output tokens assumed when there is no earlier answer. */
const defaultOutput = 500;

export function stepLimitError(steps: number, { maxSteps }: Pick<Limits, "maxSteps">): TurnError | null {
  return steps >= maxSteps ? budgetUsedUp("steps", `${maxSteps} steps`) : null;
}

/** Assumes that the request is cached like the last one, and that the next answer is about as long. */
export async function estimateRequest(state: Pick<LoopState, "path" | "system" | "tools" | "model" | "input">): Promise<UsageEstimate> {
  const { path, system, tools, model, input } = state;
  const last = lastCountedUsage(path);
  const fixed = last === null ? Math.ceil((byteLength(system) + byteLength(JSON.stringify(tools))) / bytesPerToken.cautious) : 0;
  const inputTokens = estimateRequestTokens(path) + fixed - (last?.cacheRead ?? 0) - (last?.cacheWrite ?? 0);
  const output = last?.output ?? defaultOutput;
  const costUsd = input.limits.maxBudgetUsd === null ? null : await model.price({ ...zeroUsage, input: inputTokens, output });
  return { tokens: inputTokens + output, costUsd };
}
