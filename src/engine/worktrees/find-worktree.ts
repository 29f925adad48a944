// Finds a worktree by a session that works in it, or by its name in a project.
import { Fault } from "../../protocol/api/error.ts";
import { sessionLabel } from "../../protocol/tree/turn.ts";
import type { WorktreeRecord } from "../../protocol/worktree/ports.ts";
import type { EngineDeps } from "../engine.ts";

/** `session` is a session or the name of a worktree of the directory's project. */
export type WorktreeQuery = { session: string; directory: string | null };

export async function findWorktree(deps: EngineDeps, { session: wanted, directory }: WorktreeQuery): Promise<WorktreeRecord> {
  if (!deps.hasStore()) throw new Fault("session-unknown", `there is no session or worktree "${wanted}" yet`);
  const store = await deps.store();
  const project = directory === null ? null : deps.projectOf(directory);
  const named = project === null ? null : await store.worktree(project, wanted);
  if (named !== null) return named;
  const session = await store.findSession(wanted, project);
  const record = session.worktree === undefined ? null : await store.worktree(session.worktree.project, session.worktree.name);
  if (record !== null) return record;
  throw new Fault(
    "usage",
    session.worktree === undefined
      ? `session ${sessionLabel(session)} works in the project itself, so there is nothing to merge`
      : `the worktree of session ${sessionLabel(session)} was removed`,
    { hint: "`skein worktrees` lists the worktrees of this project" },
  );
}
