// Sub-sessions: a delegated task is a session and a turn of its own, linked to its parent, with less rights. All that
// run below one turn share its budget: each counts what the others have spent so far.
import { dirname } from "node:path";
import type { Event } from "../protocol/event.ts";
import type { Delegation, DelegationResult } from "../protocol/ports.ts";
import { addSpent, nothingSpent, type Spent } from "../protocol/usage.ts";
import { levelBelow, narrowed } from "./narrow.ts";
import { openSession } from "./sessions.ts";
import type { Driven } from "./turn.ts";

const subSessionSteps = 100;

export function delegation(parent: Driven): { delegate: (request: Delegation) => Promise<DelegationResult>; spent: () => Spent } {
  const children = new Map<string, Spent>();
  const spent = (without?: string) =>
    [...children].filter(([child]) => child !== without).reduce((sum, [, each]) => addSpent(sum, each), nothingSpent);
  /** What a child's budget must count besides its own: its parent, its siblings, and what is around them. */
  const around = (child: string) => [parent.recorder, spent(child), parent.place.elsewhere()].reduce(addSpent, nothingSpent);

  async function delegate(request: Delegation): Promise<DelegationResult> {
    const { parts, params, session, turn, deadline, place } = parent;
    const policy = narrowed(params.policy, request.sandbox, session);
    const isSameAgent = request.agent === null || request.agent === session.agent;
    const child = await openSession(parts, {
      find: { by: "new" },
      directory: session.directory,
      task: request.task,
      agent: request.agent ?? session.agent,
      model: request.model ?? (isSameAgent ? turn.model : null),
      toolLevel: levelBelow(params.toolLevel, policy),
      parentSession: session.id,
      transcriptDir: session.transcript === null ? null : dirname(session.transcript),
    });
    const start = {
      ...params,
      session: child.id,
      prompt: request.task,
      images: [],
      agent: null,
      model: child.model,
      toolLevel: child.toolLevel,
      spawn: false,
      policy,
    };
    const limits = { ...params.limits, maxSteps: Math.min(subSessionSteps, params.limits.maxSteps) };
    const watch = (event: Event) => {
      if (event.type === "node.added") children.set(child.id, addSpent(children.get(child.id) ?? nothingSpent, spentOn(event.node)));
      if ("n" in event) request.onEvent(event);
    };
    const release = deadline.hold();
    try {
      const below = {
        outer: request.signal,
        elsewhere: () => around(child.id),
        root: place.root ?? session.id,
        gate: parent.live.gate,
        told: place.told,
      };
      const outcome = await parent.runBelow(
        { ...start, limits, fresh: false, answerSchema: null, command: null, outputFile: null },
        watch,
        below,
      );
      return {
        session: child.id,
        status: outcome.turn.status ?? "broken",
        answer: outcome.answer,
        transcript: outcome.session.transcript,
        costUsd: outcome.turn.costUsd,
        left: { tokens: null, costUsd: null, children: null },
        ...(outcome.turn.error === null ? {} : { error: outcome.turn.error }),
      };
    } finally {
      release();
    }
  }

  return { delegate, spent };
}

function spentOn(node: { usage?: Spent["usage"]; costUsd?: number | null }): Spent {
  return node.usage === undefined ? nothingSpent : { usage: node.usage, costUsd: node.costUsd ?? null };
}
