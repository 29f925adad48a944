// A turn that runs a command for a person: everything that only matters to a model is off.
import type { TurnStart } from "../protocol/api.ts";
import type { Policy } from "../protocol/policy.ts";

export function commandTurn(session: string, command: string, policy: Policy): TurnStart {
  return {
    session,
    command,
    policy,
    prompt: null,
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
    limits: { maxSteps: 1, maxTokens: null, maxBudgetUsd: null },
    timeoutMs: null,
    idleMs: null,
    answerSchema: null,
    outputFile: null,
  };
}
