// Tests the estimated usage of a request before it is sent.
import { expect, test } from "bun:test";
import type { Node } from "../../../protocol/tree/node.ts";
import { zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";
import { estimateRequest, stepLimitError } from "./request-size.ts";
import type { LoopState } from "../turn-state.ts";

const node = (author: Node["author"], text: string, usage?: Usage): Node => ({
  id: text,
  parent: null,
  tree: "t",
  session: "s",
  turn: "u",
  author,
  at: 0,
  parts: [{ kind: "text", text }],
  ...(usage === undefined ? {} : { usage }),
});

function estimate(path: Node[], maxBudgetUsd: number | null = null) {
  return estimateRequest({
    path,
    system: "s".repeat(300),
    tools: [],
    model: { price: async ({ input, output }: Usage) => (input + 10 * output) / 1000 } as LoopState["model"],
    input: { limits: { maxBudgetUsd } } as LoopState["input"],
  });
}

test("a turn ends at its step limit, and the hint names the flag", () => {
  expect(stepLimitError(9, { maxSteps: 10 })).toBeNull();
  expect(stepLimitError(10, { maxSteps: 10 })).toMatchObject({
    kind: "budget",
    limit: "steps",
    hint: "raise --max-steps and continue with `skein run --resume`",
  });
});

test("the first request is estimated by its length plus a default answer", async () => {
  expect(await estimate([node("user", "x".repeat(600))])).toEqual({ tokens: 100 + 1 + 200 + 500, costUsd: null });
});

test("a later request is estimated by the vendor's last count plus the newer nodes", async () => {
  const path = [node("user", "go"), node("agent", "a", { ...zeroUsage, input: 1000, output: 50 }), node("tool", "y".repeat(300))];
  expect(await estimate(path)).toEqual({ tokens: 1000 + 50 + 100 + 50, costUsd: null });
});

test("cached tokens are not counted again", async () => {
  const path = [node("user", "go"), node("agent", "a", { input: 10, output: 50, cacheRead: 90_000, cacheWrite: 400 })];
  expect(await estimate(path)).toEqual({ tokens: 10 + 50 + 50, costUsd: null });
});

test("the estimate has a cost if the budget is in dollars", async () => {
  const path = [node("user", "go"), node("agent", "a", { ...zeroUsage, input: 100, output: 10 })];
  expect(await estimate(path, 1)).toEqual({ tokens: 120, costUsd: (110 + 100) / 1000 });
});
