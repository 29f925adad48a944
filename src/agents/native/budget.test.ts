import { describe, expect, test } from "bun:test";
import type { Limits } from "../../protocol/ports.ts";
import { noUsage } from "../../protocol/usage.ts";
import { checkBudget, type Spending } from "./budget.ts";

const limits: Limits = { maxSteps: 10, maxTokens: 1000, maxBudgetUsd: 0.5, maxChildren: null, treeSteps: null };
const nothing: Spending = { usage: noUsage, costUsd: 0, steps: 0 };
const none = { tokens: 0, costUsd: 0 };

describe("a budget", () => {
  const cases: [string, Spending, typeof none, string | null][] = [
    ["is open at first", nothing, none, null],
    ["is open below every limit", { usage: { ...noUsage, input: 999 }, costUsd: 0.49, steps: 9 }, none, null],
    ["ends with its steps", { ...nothing, steps: 10 }, none, "steps"],
    ["ends with its tokens", { ...nothing, usage: { input: 400, output: 300, cacheWrite: 300, cacheRead: 0 } }, none, "tokens"],
    ["does not count cached input", { ...nothing, usage: { ...noUsage, cacheRead: 1_000_000 } }, none, null],
    ["counts the tokens of sub-sessions", { ...nothing, usage: { ...noUsage, input: 500 } }, { tokens: 500, costUsd: 0 }, "tokens"],
    ["ends with its money", { ...nothing, costUsd: 0.5 }, none, "money"],
    ["counts the money of sub-sessions", { ...nothing, costUsd: 0.3 }, { tokens: 0, costUsd: 0.25 }, "money"],
  ];
  for (const [title, spending, below, limit] of cases) {
    test(title, () => expect(checkBudget(spending, limits, below)?.limit ?? null).toBe(limit as "steps" | null));
  }

  test("without limits is never used up but by steps", () => {
    const open = { maxSteps: Number.MAX_SAFE_INTEGER, maxTokens: null, maxBudgetUsd: null, maxChildren: null, treeSteps: null };
    expect(checkBudget({ usage: { ...noUsage, input: 1e12 }, costUsd: 1e6, steps: 1e6 }, open, none)).toBeNull();
  });

  test("that is used up names the flag that raises it", () => {
    expect(checkBudget({ ...nothing, steps: 10 }, limits, none)).toMatchObject({
      kind: "budget",
      hint: "raise --max-steps and go on with --resume",
    });
  });
});
