// A turn that runs a command for a person: everything that only matters to a model is off.
import type { Settings, TurnStart } from "../protocol/api.ts";

export function commandTurn(session: string, command: string, settings: Settings): TurnStart {
  return {
    session,
    command,
    policy: { name: settings.policy, sandbox: settings.sandbox ?? "auto", net: settings.net, allowWrite: [...settings.allowWrite] },
    prompt: null,
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
