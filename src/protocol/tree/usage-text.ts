// Writes token counts and costs, for every place that shows them.
// Input counts everything that was sent; the cached part follows in parentheses.
import { shortCount } from "../../kit/text/cut-text.ts";
import type { Cost, Usage } from "./usage.ts";

export function totalInput(usage: Usage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite;
}

/** `in 1.2k (800 cached) out 567` */
export function tokensText(usage: Usage): string {
  const cached = usage.cacheRead > 0 ? ` (${shortCount(usage.cacheRead)} cached)` : "";
  return `in ${shortCount(totalInput(usage))}${cached} out ${shortCount(usage.output)}`;
}

type DollarFormat = {
  digits?: number;
  /** For a screen reader: `0.1234 dollars`. */
  isForScreenReader?: boolean;
};

type CostFormat = DollarFormat & {
  /** For a narrow column: "?" instead of "cost unknown". */
  isTight?: boolean;
};

/** `$0.1234`; `$0.1234+` if a part has no price; "cost unknown" without any price. */
export function costText({ costUsd, costIsPartial }: Cost, { isTight = false, ...format }: CostFormat = {}): string {
  if (costUsd === null) return isTight ? "?" : "cost unknown";
  const amount = dollarsText(costUsd, format);
  if (costIsPartial !== true) return amount;
  return format.isForScreenReader === true ? `more than ${amount}` : `${amount}+`;
}

export function dollarsText(amount: number, { digits = 4, isForScreenReader = false }: DollarFormat = {}): string {
  return isForScreenReader ? `${amount.toFixed(digits)} dollars` : `$${amount.toFixed(digits)}`;
}
