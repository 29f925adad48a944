// Sub-sessions: a delegated task is a session and a turn of its own, linked to its parent, with less rights and
// what is left of the budget.
import type { PassingBody } from "../protocol/event.ts";
import type { Delegation, DelegationResult, Limits } from "../protocol/ports.ts";
import { addUsage, countedTokens, noUsage, type Usage } from "../protocol/usage.ts";
import { openSession } from "./sessions.ts";
import type { Driven } from "./turn.ts";

const subSessionSteps = 100;

export type Below = { usage: Usage; costUsd: number };

export function delegation(parent: Driven): { delegate: (request: Delegation) => Promise<DelegationResult>; spent: () => Below } {
  let below: Below = { usage: noUsage, costUsd: 0 };

  async function delegate(request: Delegation): Promise<DelegationResult> {
    const { parts, params, session, turn } = parent;
    const chosen = parts.chooseAgent(request.agent ?? session.agent, request.model ?? (request.agent === null ? turn.model : null));
    const model = await parts.chooseModel(chosen.model);
    const child = await openSession(parts, {
      find: { by: "new" },
      directory: session.directory,
      task: request.task,
      agent: chosen.agent,
      model,
      toolLevel: params.toolLevel === "orchestrator" ? "minimal" : params.toolLevel,
      parentSession: session.id,
      transcriptDir: null,
    });
    const start = { ...params, session: child.id, prompt: request.task, images: [], model, toolLevel: child.toolLevel, spawn: false };
    const limits = { ...remaining(params.limits, parent, below), maxSteps: Math.min(subSessionSteps, params.limits.maxSteps) };
    const outcome = await parent.runBelow(
      { ...start, limits, fresh: false, answerSchema: null, outputFile: null },
      (event) => {
        if ("n" in event) request.onEvent(event as PassingBody);
      },
      request.signal,
    );
    below = { usage: addUsage(below.usage, outcome.turn.usage), costUsd: below.costUsd + (outcome.turn.costUsd ?? 0) };
    return {
      session: child.id,
      status: outcome.turn.status ?? "broken",
      answer: outcome.answer,
      transcript: outcome.session.transcript,
      costUsd: outcome.turn.costUsd,
      ...(outcome.turn.error === null ? {} : { error: outcome.turn.error }),
    };
  }

  return { delegate, spent: () => below };
}

function remaining(limits: Limits, parent: Driven, below: Below): Limits {
  const tokens = countedTokens(parent.recorder.usage) + countedTokens(below.usage);
  const cost = parent.recorder.costUsd + below.costUsd;
  return {
    ...limits,
    maxTokens: limits.maxTokens === null ? null : Math.max(1, limits.maxTokens - tokens),
    maxBudgetUsd: limits.maxBudgetUsd === null ? null : Math.max(0.000001, limits.maxBudgetUsd - cost),
  };
}
