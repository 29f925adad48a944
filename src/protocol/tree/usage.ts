// Tokens and money. `input` never contains cached tokens: the four counts add up to all processed tokens.

import type { Spent, Usage } from "../schema/tree.ts";

export type { Spent, Usage };

export const zeroUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export const zeroSpent: Spent = { usage: zeroUsage, costUsd: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return combine(a, b, (x, y) => x + y);
}

/** No count is negative. */
export function subtractUsage(total: Usage, part: Usage): Usage {
  return combine(total, part, (x, y) => Math.max(0, x - y));
}

function combine(a: Usage, b: Usage, calculate: (x: number, y: number) => number): Usage {
  const countOf = (name: keyof Usage) => calculate(a[name], b[name]);
  return { input: countOf("input"), output: countOf("output"), cacheRead: countOf("cacheRead"), cacheWrite: countOf("cacheWrite") };
}

export function addSpent(a: Spent, b: Spent): Spent {
  return { usage: addUsage(a.usage, b.usage), costUsd: a.costUsd === null || b.costUsd === null ? null : a.costUsd + b.costUsd };
}

export function subtractSpent(total: Spent, part: Spent): Spent {
  const costUsd = total.costUsd === null || part.costUsd === null ? null : Math.max(0, total.costUsd - part.costUsd);
  return { usage: subtractUsage(total.usage, part.usage), costUsd };
}

/** Tokens that `--max-tokens` counts. Cached input costs almost nothing and does not count. */
export function countedTokens(usage: Usage): number {
  return usage.input + usage.output + usage.cacheWrite;
}
