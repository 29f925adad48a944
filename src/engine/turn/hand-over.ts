// Hands a turn that ended at a vendor's limit to the next agent that is ready. The next agent gets a turn of its own in the
// same session: the conversation and the files are those that the first agent left.
import type { TurnRequest, EndedTurn, TurnScope } from "./run-turn.ts";
import { Fault, messageOf, type TurnError } from "../../protocol/api/error.ts";
import { formatSuccessor, isLimitError, type Successor } from "../../protocol/limits/at-limit.ts";
import { clockTime } from "../../protocol/limits/clock-time.ts";
import type { NewNode } from "../../protocol/tree/node.ts";
import type { Limits } from "../../protocol/api/turn-options.ts";
import type { EngineDeps } from "../engine.ts";
import { findAgent } from "./open-session.ts";

/** The turns of this prompt that ended at a limit. */
export type HandOver = {
  /** The first node of the next turn. */
  note: NewNode;
  /** The ends of the limits so far. */
  resetTimes: number[];
};

/** The request of the next agent's turn; null if the turn needs none, or if no agent of the list is ready. */
export async function handOver(deps: EngineDeps, request: TurnRequest, ended: EndedTurn, scope: TurnScope): Promise<TurnRequest | null> {
  const { error } = ended.turn;
  const { command, group, team, race, compact } = request;
  const isOrdinary = [command, group, team, race].every((task) => task === null) && compact !== true;
  if (!isOrdinary || request.atLimit.how !== "agents" || error === null || !isLimitError(error) || scope.parentSignal.aborted) return null;
  const { limits, timeoutMs } = remainingLimits(request, ended, scope);
  if (limits === null) return null;
  const { ready, refused } = await readyAgents(deps, { ...request, limits }, ended);
  const [next, ...later] = ready;
  if (next === undefined) return null;
  const resetTimes = [...(request.handOver?.resetTimes ?? []), ...(error.resetAt === undefined ? [] : [error.resetAt])];
  return {
    ...request,
    agent: next.agent,
    model: next.model,
    effort: undefined,
    agentArgs: [],
    prompt: null,
    images: [],
    fromQueue: undefined,
    limits,
    timeoutMs,
    atLimit: { how: "agents", agents: later },
    handOver: { note: handOverNote(ended, next, refused), resetTimes },
  };
}

/** If no agent is left, the error has the earliest end of all limits of this prompt. */
export function withEarliestReset(error: TurnError, { atLimit, handOver: earlier }: Pick<TurnRequest, "atLimit" | "handOver">): TurnError {
  const isLast = atLimit.how === "agents" && atLimit.agents.length === 0;
  if (!isLast || earlier === undefined || !isLimitError(error)) return error;
  const times = [...earlier.resetTimes, ...(error.resetAt === undefined ? [] : [error.resetAt])];
  return times.length === 0 ? error : { ...error, resetAt: Math.min(...times) };
}

/** The agents of the list that can take the turn, in order, and the reasons of the others. The agent that ended is left out. */
async function readyAgents(
  deps: EngineDeps,
  request: TurnRequest,
  { turn, session }: EndedTurn,
): Promise<{ ready: Successor[]; refused: string[] }> {
  const ready: Successor[] = [];
  const refused: string[] = [];
  for (const successor of request.atLimit.how === "agents" ? request.atLimit.agents : []) {
    try {
      const chosen = await deps.chooseAgent(successor.agent, successor.model);
      const model = await deps.chooseModel(chosen.agent, chosen.model);
      if (chosen.agent === turn.agent && model === turn.model) continue;
      const until = (await deps.limits?.limitedUntil(chosen.agent, model)) ?? null;
      if (until !== null) {
        refused.push(`${formatSuccessor(successor)}: at its limit until ${clockTime(until, Date.now())}`);
        continue;
      }
      const agent = findAgent(deps, chosen.agent);
      const { project, directory } = session;
      await agent.check({ ...request, agentArgs: [], model, project, directory });
      await agent.enforced(request.policy, model);
      ready.push(successor);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      refused.push(`${formatSuccessor(successor)}: ${messageOf(error)}`);
    }
  }
  return { ready, refused };
}

/** The limits that the ended turn left. A sub-session shares the account of its run, so only its own time and steps shrink. */
function remainingLimits(
  { limits, timeoutMs }: TurnRequest,
  { turn, left }: EndedTurn,
  { parentAccount }: TurnScope,
): { limits: Limits | null; timeoutMs: number | null } {
  const usedMs = (turn.endedAt ?? turn.startedAt) - turn.startedAt;
  const timeLeft = timeoutMs === null ? null : timeoutMs - usedMs;
  const maxSteps = limits.maxSteps - turn.steps;
  const treeSteps = limits.treeSteps === null ? null : limits.treeSteps - turn.steps;
  const own = { ...limits, maxSteps, treeSteps };
  const shared = parentAccount === null ? { ...own, maxTokens: left.tokens, maxBudgetUsd: left.costUsd, maxChildren: left.children } : own;
  const isUsedUp = [timeLeft, maxSteps, treeSteps, shared.maxTokens, shared.maxBudgetUsd].some((value) => value !== null && value <= 0);
  return { limits: isUsedUp ? null : shared, timeoutMs: timeLeft };
}

function handOverNote({ turn }: EndedTurn, next: Successor, refused: readonly string[]): NewNode {
  const reason = turn.error?.message ?? turn.status ?? "";
  const skipped = refused.length === 0 ? "" : ` Not ready: ${refused.join("; ")}.`;
  const text =
    `[${formatSuccessor(next)} takes over from ${turn.agent}, which reached a limit: ${reason}.${skipped} ` +
    "The conversation above and the project's files are as it left them. Continue the user's last task; do not repeat finished steps.]";
  return { author: "note", note: { about: "hand-over" }, parts: [{ kind: "text", text }] };
}
