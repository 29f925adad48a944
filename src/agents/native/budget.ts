// What a native turn has used, against what it may use.
import type { TurnError } from "../../protocol/error.ts";
import type { Limits } from "../../protocol/ports.ts";
import { countedTokens, type Usage } from "../../protocol/usage.ts";

export type Spending = { usage: Usage; costUsd: number; steps: number };

/** Asked before every request: the turn ends here, with all it has done, when a limit is reached. */
export function checkBudget(spending: Spending, limits: Limits, below: { tokens: number; costUsd: number }): TurnError | null {
  if (spending.steps >= limits.maxSteps) return over("steps", `${limits.maxSteps} steps`, "--max-steps");
  const tokens = countedTokens(spending.usage) + below.tokens;
  if (limits.maxTokens !== null && tokens >= limits.maxTokens) {
    return over("tokens", `${tokens} of ${limits.maxTokens} tokens`, "--max-tokens");
  }
  const cost = spending.costUsd + below.costUsd;
  if (limits.maxBudgetUsd !== null && cost >= limits.maxBudgetUsd) {
    return over("money", `$${cost.toFixed(4)} of $${limits.maxBudgetUsd}`, "--max-budget-usd");
  }
  return null;
}

function over(limit: NonNullable<TurnError["limit"]>, used: string, flag: string): TurnError {
  return { kind: "budget", limit, message: `the budget is used up: ${used}`, hint: `raise ${flag} and go on with --resume` };
}
