// Turns with nothing special about them: everything off that was not asked for, or everything as it is configured.
import type { Settings, TurnStartParams } from "./api.ts";
import type { Policy, PolicyName } from "./policy.ts";

/** The bounds of a turn that nobody watches. */
export const headlessLimits = { maxSteps: 200, maxChildren: 200, timeoutMs: 4 * 3_600_000, idleMs: 600_000 };

export function bareTurn(session: string, policy: Policy): TurnStartParams {
  return {
    session,
    policy,
    prompt: null,
    command: null,
    group: null,
    team: null,
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

/** As `skein run` starts it where nobody is at the terminal and no flag is given. */
export function configuredTurn(settings: Settings): Omit<TurnStartParams, "session" | "prompt" | "agent"> {
  const { session: _session, prompt: _prompt, agent: _agent, ...plain } = bareTurn("", configuredPolicy(settings));
  return {
    ...plain,
    toolLevel: settings.toolLevel,
    spawn: true,
    contextFiles: settings.contextFiles,
    limits: {
      maxSteps: settings.maxSteps ?? headlessLimits.maxSteps,
      maxTokens: settings.maxTokens,
      maxBudgetUsd: settings.maxBudgetUsd,
      maxChildren: settings.maxChildren ?? headlessLimits.maxChildren,
      treeSteps: null,
    },
    timeoutMs: settings.timeoutMs ?? headlessLimits.timeoutMs,
    idleMs: settings.idleMs ?? headlessLimits.idleMs,
    asks: { how: "later" },
    steerable: true,
  };
}

/** A policy that was asked for by its name is what it is; what else it needs is configured. */
export function configuredPolicy({ policy, toolLevel, sandbox, net, allowWrite }: Settings, wanted: PolicyName | null = null): Policy {
  const name = wanted ?? (toolLevel === "readonly" ? "readonly" : policy);
  const writes = name === "workspace" || name === "full";
  return {
    name,
    sandbox: sandbox ?? (writes ? "auto" : "required"),
    net: name === "full" ? "on" : net,
    allowWrite: writes ? [...allowWrite] : [],
    addDirs: [],
  };
}
