// Writes token counts and costs as the status bar and the line after a turn show them.
// Input counts everything that was sent; the cached part follows in parentheses.
import type { Usage } from "./usage.ts";

export function totalInput(usage: Usage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite;
}

/** `i:1234(c:800) o:567` */
export function tokensText(usage: Usage, count: (tokens: number) => string = String): string {
  const cached = usage.cacheRead > 0 ? `(c:${count(usage.cacheRead)})` : "";
  return `i:${count(totalInput(usage))}${cached} o:${count(usage.output)}`;
}

type CostFormat = {
  digits?: number;
  /** For a narrow column: "?" instead of "cost unknown". */
  isTight?: boolean;
  /** For a screen reader: `0.1234 dollars`. */
  isForScreenReader?: boolean;
};

/** `$0.1234`, or "cost unknown" without a price. */
export function costText(costUsd: number | null, { digits = 4, isTight = false, isForScreenReader = false }: CostFormat = {}): string {
  if (costUsd === null) return isTight ? "?" : "cost unknown";
  const amount = costUsd.toFixed(digits);
  return isForScreenReader ? `${amount} dollars` : `$${amount}`;
}
