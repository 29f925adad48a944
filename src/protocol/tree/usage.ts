// Tokens and money. `input` never contains cached tokens: the four counts add up to all processed tokens.

import type { Cost, Spent, Usage } from "../schema/tree.ts";

export type { Cost, Spent, Usage };

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

/** A cost from the sum of the known prices. It is partial if there is also an unknown price, and null if there is no other. */
export function costOf(knownUsd: number, hasUnknown: boolean): Cost {
  if (!hasUnknown) return { costUsd: knownUsd };
  return knownUsd === 0 ? { costUsd: null } : { costUsd: knownUsd, costIsPartial: true };
}

export function hasUnknownPrice({ costUsd, costIsPartial }: Cost): boolean {
  return costUsd === null || costIsPartial === true;
}

/** Only the cost of something that has one. */
export function toCost({ costUsd, costIsPartial }: Cost): Cost {
  return costIsPartial === true ? { costUsd, costIsPartial } : { costUsd };
}

export function addCost(a: Cost, b: Cost): Cost {
  return costOf((a.costUsd ?? 0) + (b.costUsd ?? 0), hasUnknownPrice(a) || hasUnknownPrice(b));
}

export function addSpent(a: Spent, b: Spent): Spent {
  return { usage: addUsage(a.usage, b.usage), ...addCost(a, b) };
}

export function subtractSpent(total: Spent, part: Spent): Spent {
  const knownUsd = Math.max(0, (total.costUsd ?? 0) - (part.costUsd ?? 0));
  return { usage: subtractUsage(total.usage, part.usage), ...costOf(knownUsd, hasUnknownPrice(total)) };
}

/** Tokens and cost of a turn and of the sub-sessions that ran in it. */
export function withSubSessions(turn: Spent & { below?: Spent }): Spent {
  return addSpent(turn, turn.below ?? zeroSpent);
}

/** Tokens that `--max-tokens` counts. Cached input costs almost nothing and does not count. */
export function countedTokens(usage: Usage): number {
  return usage.input + usage.output + usage.cacheWrite;
}

/** Micro-dollars: sums of prices have binary rounding errors behind them. */
export function roundUsd(amount: number): number {
  return Math.round(amount * 1_000_000) / 1_000_000;
}

/** The unit of usage over time: in every time zone, an hour starts with a quarter of an hour. */
export const quarterHourMs = 900_000;
