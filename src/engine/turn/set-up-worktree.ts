// The place of a turn in a worktree: its variables, and the setup command that runs once before the first turn there.
import type { Event } from "../../protocol/tree/event.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { EngineDeps } from "../engine.ts";
import type { TurnRequest } from "./run-turn.ts";

const loadPrepare = () => import("../worktrees/prepare-turn.ts");

/** The tools of a session in a worktree get its variables. Creates the worktree again if its directory was deleted. */
export async function inWorktree<Request extends TurnRequest>(
  deps: EngineDeps,
  params: Request,
  session: Session,
): Promise<{ params: Request; setup: string | null }> {
  if (session.worktree === undefined) return { params, setup: null };
  const { env, setup } = await (await loadPrepare()).prepareWorktree(deps, session);
  return { params: { ...params, env: { ...env, ...params.env } }, setup };
}

/** A turn that may write nothing can't set up its worktree. The next one that may does. */
export function canSetUp({ policy, command }: TurnRequest): boolean {
  return command === null && (policy.name === "workspace" || policy.name === "full");
}

/** `run` runs the setup command as a turn of its own, and passes its events on. Throws if the command fails. */
export async function runSetup(
  deps: EngineDeps,
  session: Session,
  run: (watch: (event: Event) => void) => Promise<unknown>,
): Promise<void> {
  const { exitOf } = await import("./delegate.ts");
  let exitCode: number | null = null;
  await run((event) => {
    if (event.type === "node.added") exitCode = exitOf(event.node).exitCode ?? exitCode;
  });
  await (await loadPrepare()).finishSetup(deps, session, exitCode);
}
