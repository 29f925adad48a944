// The check of a turn's request: which one applies, how it runs at the end of the turn, and the turn that repairs a failure.
import { Fault } from "../../protocol/api/error.ts";
import type { AgentEvent } from "../../protocol/api/ports.ts";
import type { Turn, TurnCheck, TurnEnd } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import type * as checks from "../checks/check-turn.ts";
import type { TurnExecution, TurnRequest } from "./run-turn.ts";

// Most turns have no check.
const loadChecks = () => import("../checks/check-turn.ts");

/** All that the agent of a turn without a task does. */
export const endedAtOnce: AgentEvent = { type: "end", end: { status: "ok" } };

/** The next turn after a failed check: its prompt is the output. */
export async function repairOf(store: Store, turn: Turn): Promise<Pick<TurnRequest, "prompt" | "images" | "fromQueue">> {
  const { readCheckOutput, repairPrompt } = await loadChecks();
  const output = await readCheckOutput(store, turn);
  if (output === null) throw new Fault("internal", `turn ${turn.id} has no output of its check`);
  return { prompt: repairPrompt(output), images: [], fromQueue: undefined };
}

/** A continued turn keeps its check. If the check had failed, the agent gets its output again. */
export async function withStoredCheck(store: Store, request: TurnRequest): Promise<TurnRequest> {
  const { prompt, command, group, team, race, pass } = request;
  if (prompt !== null || pass !== undefined || [command, group, team, race].some((task) => task !== null)) return request;
  const last = (await store.turnsOf(request.session)).at(-1);
  if (last?.check === undefined) return request;
  const { timeoutMs, repairs } = last.check;
  const checked = { ...request, check: last.check.command, checkTimeoutMs: timeoutMs, checkRepairs: repairs };
  return last.status === "check-failed" ? { ...checked, ...(await repairOf(store, last)), checkRepairs: 0 } : checked;
}

/**
 * The check of a turn; undefined without one. Only an ordinary turn has a check: a command, a summary, a group, a team and a
 * race change no file by a prompt. A turn that only checks has a command for the agent `shell`, which is not started.
 */
export function turnCheckOf({ check, checkTimeoutMs, checkRepairs, ...params }: TurnRequest): TurnCheck | undefined {
  const { command, compact, group, team, race, isCheckOnly } = params;
  if (check === null || compact === true || [group, team, race].some((task) => task !== null)) return undefined;
  if (command !== null && isCheckOnly !== true) return undefined;
  return { command: check, timeoutMs: checkTimeoutMs, repairs: checkRepairs };
}

/** Runs the check of a turn whose agent has ended well. */
export async function checkEnded(
  execution: TurnExecution,
  end: TurnEnd,
  keepFiles: () => Promise<void>,
): ReturnType<typeof checks.checkWork> {
  const { deps, scope, running, session, turn } = execution;
  const { params } = running;
  const check = turnCheckOf(params);
  if (check === undefined || end.status !== "ok" || running.deadline.signal.aborted) return { end };
  await keepFiles();
  const { checkFailure, checkWork } = await loadChecks();
  const { id, project, directory } = session;
  const { policy, nesting, env } = params;
  return checkWork({
    runCommand: deps.runCommand,
    running,
    check,
    turn: { session: id, root: scope.root ?? id, project, directory, policy, nesting, env },
    end,
    failureOf: async (outcome) => params.failureOf?.(outcome, turn.id) ?? checkFailure(outcome, check),
  });
}
