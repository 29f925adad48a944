// A turn with nothing special about it: everything off that was not asked for.
import type { TurnStart } from "./api.ts";
import type { Policy } from "./policy.ts";

/** The bounds of a turn that nobody watches. */
export const unattended = { maxSteps: 200, maxChildren: 200, timeoutMs: 4 * 3_600_000, idleMs: 600_000 };

export function plainTurn(session: string, policy: Policy): TurnStart {
  return {
    session,
    policy,
    prompt: null,
    command: null,
    group: null,
    agent: null,
    agentArgs: [],
    images: [],
    model: null,
    toolLevel: "minimal",
    tools: null,
    spawn: false,
    system: null,
    appendSystem: null,
    contextFiles: false,
    fresh: false,
    limits: { maxSteps: Number.MAX_SAFE_INTEGER, maxTokens: null, maxBudgetUsd: null, maxChildren: null, treeSteps: null },
    timeoutMs: null,
    idleMs: null,
    answerSchema: null,
    outputFile: null,
    asks: { how: "none" },
    steerable: false,
    nesting: false,
  };
}
