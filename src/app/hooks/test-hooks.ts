// Runs the user's hooks once with a sample record, for `skein hooks test`. Nothing is stored.
import type { AppContext } from "../app-context.ts";
import type { HookTest } from "../../protocol/schema/setup.ts";
import { hookNames, type HookEvent, type HookName } from "../../protocol/hooks/hook-event.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { zeroSpent } from "../../protocol/tree/usage.ts";
import { hookTargets } from "./create-hooks.ts";
import { createHookRunner } from "./run-hook.ts";

export async function testHooks(ctx: AppContext, hook: HookName | null): Promise<HookTest[]> {
  const targets = hookTargets(ctx);
  const runner = createHookRunner(ctx);
  const tests: HookTest[] = [];
  for (const name of hook === null ? hookNames : [hook]) {
    const target = targets[name];
    const startedAt = performance.now();
    const problem = target === null ? null : await runner.run(sampleEvents(ctx, Date.now())[name], target);
    const outcome = target === null ? "not-configured" : problem === null ? "ok" : "failed";
    tests.push({ hook: name, outcome, problem, durationMs: target === null ? 0 : Math.round(performance.now() - startedAt) });
  }
  return tests;
}

/** A record of a test has the session name `hooks test`, and an id that no session has. */
function sampleEvents({ project }: AppContext, now: number): { [Name in HookName]: Extract<HookEvent, { type: Name }> } {
  const id = "00000000-0000-7000-8000-000000000000";
  const session = { id, name: "hooks test", directory: project, project, agent: "native", model: null } as Session;
  const turn = { id, agent: "native", model: null, status: "ok", error: null, startedAt: now - 1_000, endedAt: now, ...zeroSpent } as Turn;
  const ask = { id, session: id, turn: id, question: "Is this a test of the hook?", options: ["yes", "no"] };
  const error = { kind: "rate-limited", message: "this is a test: the vendor's limit is reached" } as const;
  return {
    turn_ended: { type: "turn_ended", session, turn, answer: "This is a test of the hook." },
    ask_opened: { type: "ask_opened", session, turnId: id, ask: ask as Extract<HookEvent, { type: "ask_opened" }>["ask"] },
    turn_waiting: { type: "turn_waiting", session, turn: { ...turn, status: "rate-limited", error }, until: now + 3_600_000, error },
  };
}
