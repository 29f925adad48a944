import { expect, test } from "bun:test";
import { defaultPolicy } from "../../protocol/api/policy.ts";
import type { TurnStatus } from "../../protocol/api/error.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import { findRepeat, nextStep, remainingLimits, type LoopSettings, type Pass } from "./loop-state.ts";

const loop: LoopSettings = {
  id: "l",
  maxRuns: 5,
  until: "npm test",
  fresh: false,
  agents: [],
  task: "do it",
  maxTokens: null,
  maxBudgetUsd: null,
  maxSteps: null,
  timeoutMs: null,
};

type Sample = {
  before?: string | null;
  after?: string | null;
  digest?: string | null;
  status?: TurnStatus | null;
  passed?: boolean;
  stage?: number;
};

function pass(number: number, sample: Sample = {}): Pass {
  const { before = `b${number}`, after = `a${number}`, digest = `d${number}`, status = "check-failed", passed = false, stage = 0 } = sample;
  const turn: Turn = {
    id: `t${number}`,
    session: "s",
    parent: null,
    tip: null,
    agent: "native",
    model: null,
    nativeId: null,
    policy: defaultPolicy,
    enforced: null,
    usage: { input: 10, output: 5, cacheRead: 100, cacheWrite: 0 },
    costUsd: 0.25,
    steps: 2,
    startedAt: 1000,
    endedAt: status === null ? null : 3000,
    status,
    error: null,
    loop: { ...loop, pass: number, stage },
    ...(digest === null ? {} : { checked: { command: "npm test", passed, exitCode: passed ? 0 : 1, durationMs: 1, digest } }),
  };
  return { number, stage, turns: [turn], before, after };
}

const running = { resumes: false };

test("a loop begins with the check", () => {
  expect(nextStep(loop, [], running)).toEqual({ do: "check" });
});

test("a check that passes before the first pass ends the loop", () => {
  expect(nextStep(loop, [pass(0, { passed: true, status: "ok" })], running)).toMatchObject({ do: "stop", reason: "passed" });
});

test("a failing check starts the next pass", () => {
  expect(nextStep(loop, [pass(0)], running)).toMatchObject({ do: "pass", number: 1, stage: 0 });
  expect(nextStep(loop, [pass(0), pass(1)], running)).toMatchObject({ do: "pass", number: 2, changesAgent: false });
});

test("the state before the first pass does not count as a repeat", () => {
  const same = { after: "a", digest: "d" };
  expect(nextStep(loop, [pass(0, same), pass(1, same)], running)).toMatchObject({ do: "pass", number: 2 });
});

test("two equal passes, and any state that was seen before, end the loop", () => {
  const a = { after: "a", digest: "da" };
  const b = { after: "b", digest: "db" };
  expect(nextStep(loop, [pass(0), pass(1, a), pass(2, a)], running)).toMatchObject({ do: "stop", reason: "no-progress" });
  expect(nextStep(loop, [pass(0), pass(1, a), pass(2, b)], running)).toMatchObject({ do: "pass", number: 3 });
  expect(nextStep(loop, [pass(0), pass(1, a), pass(2, b), pass(3, a)], running)).toMatchObject({ do: "stop", reason: "no-progress" });
});

test("the same output with other files, and the same files with another output, are progress", () => {
  expect(findRepeat([pass(1, { digest: "d" }), pass(2, { digest: "d" })])).toBe(null);
  expect(findRepeat([pass(1, { after: "a" }), pass(2, { after: "a" })])).toBe(null);
});

test("a pass that changes no file is a repeat though the check writes files itself", () => {
  expect(findRepeat([pass(1, { digest: "d" }), pass(2, { before: "x", after: "x", digest: "d" })])).toBe(1);
});

test("without recorded files the output alone decides", () => {
  const unknown = { before: null, after: null, digest: "d" };
  expect(findRepeat([pass(1, unknown), pass(2, unknown)])).toBe(1);
});

test("without progress the next named agent takes over, each once", () => {
  const same = { after: "a", digest: "d" };
  const two = { ...loop, agents: ["claude", "codex"] };
  expect(nextStep(two, [pass(1, same), pass(2, same)], running)).toMatchObject({ do: "pass", number: 3, stage: 1, changesAgent: true });
  expect(nextStep(two, [pass(1, same), pass(2, same), pass(3, { ...same, stage: 1 })], running)).toMatchObject({ reason: "no-progress" });
  expect(nextStep(two, [pass(1, same), pass(2, same), pass(3, { stage: 1 })], running)).toMatchObject({
    number: 4,
    stage: 1,
    changesAgent: false,
  });
});

test("a loop ends after its last allowed pass", () => {
  expect(nextStep({ ...loop, maxRuns: 2 }, [pass(1), pass(2)], running)).toMatchObject({ do: "stop", reason: "max-runs" });
});

test("a pass that failed otherwise ends a running loop, and is continued by a resumed one", () => {
  const failed = [pass(0), pass(1, { digest: null, status: "cancelled" })];
  expect(nextStep(loop, failed, running)).toMatchObject({ do: "stop", reason: "failed" });
  expect(nextStep(loop, failed, { resumes: true })).toMatchObject({ do: "pass", number: 1, isContinued: true });
  expect(nextStep(loop, [pass(0, { digest: null, status: null })], { resumes: true })).toEqual({ do: "check" });
});

test("all passes share one budget of tokens, money, steps and time", () => {
  const limited = { ...loop, maxTokens: 100, maxBudgetUsd: 1, maxSteps: 10, timeoutMs: 60_000 };
  expect(remainingLimits(limited, [pass(1), pass(2)])).toEqual({ maxTokens: 70, maxBudgetUsd: 0.5, treeSteps: 6, timeoutMs: 56_000 });
  expect(nextStep({ ...loop, maxBudgetUsd: 0.5 }, [pass(1), pass(2)], running)).toMatchObject({ reason: "budget", kind: "budget" });
  expect(nextStep({ ...loop, timeoutMs: 4000 }, [pass(1), pass(2)], running)).toMatchObject({ reason: "budget", kind: "timed-out" });
});
