// Finds the changes between two states that were not made by their branch alone.
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { Store } from "../../store/store.ts";
import { ownership, recordsOf } from "./branch-files.ts";
import { fileHistory } from "./file-history.ts";
import type { FileState } from "./file-states.ts";
import { creditsOf, type Credit } from "./other-changes.ts";

/** `node` is null for the current files. */
export type ComparedState = FileState & { node: string | null };

/** The writers of each path that the branch did not change alone. The branch ends at the node of `to`, or at its session's tip. */
export async function creditChanges(
  store: Store,
  snapshots: Snapshots,
  states: { from: ComparedState; to: ComparedState },
): Promise<Map<string, Credit>> {
  const { path, start } = await branchBetween(store, states.from.node, states.to.node);
  const isOwn = await ownership(store, (await recordsOf(store, path, start)).own);
  const [earlier, later] = [states.from, states.to].toSorted((a, b) => a.at - b.at) as [ComparedState, ComparedState];
  const window = { project: earlier.project, from: earlier.at, to: later.at, start: earlier.id, end: later.id };
  const history = await fileHistory(store, snapshots, window);
  const foreign = new Set(history.flatMap((change) => (isOwn(change) ? [] : [change.path])));
  return creditsOf(
    store,
    history.filter(({ path }) => foreign.has(path)),
  );
}

async function branchBetween(store: Store, from: string | null, to: string | null): Promise<{ path: Node[]; start: number }> {
  const before = await store.path(from);
  const end = to ?? (await tipAfter(store, before));
  const path = await store.path(end);
  let shared = 0;
  while (path[shared] !== undefined && path[shared]?.id === before[shared]?.id) shared += 1;
  return { path, start: shared };
}

/** The tip of the session that wrote the last node, if it is still on the session's path. */
async function tipAfter(store: Store, path: Node[]): Promise<string | null> {
  const node = path.at(-1);
  if (node === undefined) return null;
  const session = await store.session(node.session);
  const tipPath = session === null ? [] : await store.path(session.tip);
  return tipPath.some(({ id }) => id === node.id) ? session!.tip : node.id;
}
