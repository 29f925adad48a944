// What a native turn is about to use. Whether there is room for it is the engine's to say: others may draw on the same.
import { byteLength } from "../../kit/text.ts";
import { type TurnError, usedUp } from "../../protocol/error.ts";
import type { Estimate, Limits } from "../../protocol/ports.ts";
import { noUsage } from "../../protocol/usage.ts";
import { bytesPerToken, sizeOf, usageInForce } from "./request-size.ts";
import type { TurnState } from "./state.ts";

/** Of an answer that nothing is known of. */
const usualOutput = 500;

export function stepsOver(steps: number, { maxSteps }: Pick<Limits, "maxSteps">): TurnError | null {
  return steps >= maxSteps ? usedUp("steps", `${maxSteps} steps`) : null;
}

/** Goes by the last request: what was cached then is cached now, and the next answer is about as long. */
export async function estimateRequest(state: Pick<TurnState, "path" | "system" | "tools" | "model" | "input">): Promise<Estimate> {
  const { path, system, tools, model, input } = state;
  const last = usageInForce(path);
  const fixed = last === null ? Math.ceil((byteLength(system) + byteLength(JSON.stringify(tools))) / bytesPerToken) : 0;
  const asked = sizeOf(path) + fixed - (last?.cacheRead ?? 0) - (last?.cacheWrite ?? 0);
  const output = last?.output ?? usualOutput;
  const costUsd = input.limits.maxBudgetUsd === null ? null : await model.price({ ...noUsage, input: asked, output });
  return { tokens: asked + output, costUsd };
}
