// Prepares the worktree of a session for a turn: creates a deleted directory again, and gives its tools their variables.
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { WorktreeRecord } from "../../protocol/worktree/ports.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { nodeState } from "../files/file-states.ts";
import { worktreesOf } from "./open-worktree.ts";

/** The variables for the tools of a turn, and the command that must run before it; null if there is none. */
type PreparedWorktree = { env: Record<string, string>; setup: string | null };

/** Throws if the worktree was removed. */
export async function prepareWorktree(deps: EngineDeps, session: Session): Promise<PreparedWorktree> {
  const { worktree } = session;
  if (worktree === undefined) return { env: {}, setup: null };
  const store = await deps.store();
  const record = await store.worktree(worktree.project, worktree.name);
  if (record === null)
    throw new Fault("usage", `the worktree ${worktree.name} of this session was removed`, {
      hint: `continue its conversation elsewhere: skein fork ${session.name ?? session.id} -w`,
    });
  if ((await worktreesOf(deps).condition(record)) === "missing") await createAgain(deps, store, { record, session });
  else await worktreesOf(deps).open(record);
  const setup = record.setup === "pending" ? (await worktreesOf(deps).settings(record.project)).setup : null;
  return { env: { SKEIN_PORT: String(record.port), SKEIN_WORKTREE: record.name }, setup };
}

/** `exitCode` is that of the setup command; null after a signal. Throws if it failed, so that no request is sent. */
export async function finishSetup(deps: EngineDeps, session: Session, exitCode: number | null): Promise<void> {
  const { worktree } = session;
  if (worktree === undefined) return;
  if (exitCode === 0) return void (await (await deps.store()).updateWorktree(worktree, { setup: "done" }));
  const id = shortId(session.id);
  throw new Fault(
    "config",
    `worktree_setup failed in ${worktree.directory}: ${exitCode === null ? "it was stopped" : `exit ${exitCode}`}`,
    {
      hint: `its output: skein show ${id}; the next turn of the session runs it again: skein run --session ${id} "task"`,
    },
  );
}

/** A deleted directory gets the files that were recorded last in this session; else those of its start. */
async function createAgain(
  deps: EngineDeps,
  store: Store,
  { record, session }: { record: WorktreeRecord; session: Session },
): Promise<void> {
  const worktrees = worktreesOf(deps);
  const found = session.tip === null ? null : await nodeState(store, session.tip);
  const state = found?.type === "known" && found.state.project === record.directory ? found.state : null;
  const files = state === null ? record.files : await worktrees.keepFiles(record, { project: state.project, tree: state.id });
  await worktrees.open(await store.updateWorktree(record, { files }));
  const source = state === null ? "the files of its start" : "its last recorded files";
  deps.warn(`the directory of worktree ${record.name} was deleted; skein created it again with ${source}`);
}
