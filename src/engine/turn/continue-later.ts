// The parts of a turn that decide whether another turn continues it later: after a limit, or after its hub was killed.
import type { TurnError } from "../../protocol/api/error.ts";
import { isLimitError, type AtLimit } from "../../protocol/limits/at-limit.ts";
import type { TurnEnd } from "../../protocol/tree/turn.ts";
import type { NewPendingTurn } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import type { TurnExecution, TurnRequest, TurnScope } from "./run-turn.ts";

/** The pending turn that continues this one when a vendor's limit ends. A sub-session does not wait: its parent decides. */
export async function waitOf({ deps, scope, running: { params }, turn }: TurnExecution, end: TurnEnd): Promise<NewPendingTurn | undefined> {
  if (scope.root !== null || params.atLimit.how !== "wait" || !isLimitError(end.error)) return undefined;
  return (await import("../pending/wait-at-limit.ts")).waitAtLimit(deps, { params, turn, end }, Date.now());
}

/** The error with its hint for a limit. A turn that waits and a sub-session have no other choice. */
export async function limitErrorOf(
  { scope, running: { params } }: TurnExecution,
  error: TurnError,
  next: NewPendingTurn | undefined,
): Promise<TurnError> {
  const [{ withEarliestReset }, { withLimitHint }] = await Promise.all([
    import("./hand-over.ts"),
    import("../../protocol/limits/limit-hint.ts"),
  ]);
  const atLimit: AtLimit | { how: "none" } = scope.root === null && next === undefined ? params.atLimit : { how: "none" };
  return withLimitHint(withEarliestReset(error, params), atLimit, Date.now());
}

/** Only a hub's turns without a parent are continued by a later hub. */
export async function continuationOf(deps: EngineDeps, params: TurnRequest, { root }: TurnScope): Promise<NewPendingTurn | undefined> {
  if (root !== null || !deps.continuesTurns) return undefined;
  return (await import("../pending/pending-turns.ts")).continuationOf(deps, params);
}
