// The methods `files.*` and `branch.files`: compares recorded states of a project's files, and restores one.
// Moving in the tree never changes files; only `restoreFiles` does.
import type { FilesDiff, FilesRestorePlan } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { OtherChange } from "../../protocol/tree/file-changes.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { BranchFilesReport } from "../../protocol/tree/views.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { branchFiles } from "./branch-files.ts";
import { creditChanges, type ComparedState } from "./credit-changes.ts";
import type { Credit } from "./other-changes.ts";
import { requireState } from "./file-states.ts";

export async function diffFiles(deps: EngineDeps, params: { from: string; to: string | null; directory: string }): Promise<FilesDiff> {
  const snapshots = snapshotsOf(deps);
  const from = await findState(deps, snapshots, { position: params.from, directory: params.directory, command: "files diff" });
  const to =
    params.to === null
      ? await takeState(snapshots, from.project)
      : await findState(deps, snapshots, { position: params.to, directory: params.directory, command: "files diff" });
  if (from.project !== to.project)
    throw new Fault("usage", "the two nodes belong to different projects", { hint: `${from.project} and ${to.project}` });
  return diffStates(deps, snapshots, from, to);
}

/** The changes that a restore would make. Records the current files first, so that the restore can be undone. */
export async function planRestore(deps: EngineDeps, params: { to: string; directory: string }): Promise<FilesRestorePlan> {
  const snapshots = snapshotsOf(deps);
  const target = await findState(deps, snapshots, { position: params.to, directory: params.directory, command: "files restore" });
  const current = await takeState(snapshots, target.project);
  const plan = await snapshots.planRestore(current.project, current.id, target.id);
  const { others } = await diffStates(deps, snapshots, target, current);
  const [changes, patch] = await compare(snapshots, current.project, [current.id, plan.to]);
  const changed = new Map(changes.map((change) => [change.path, change]));
  // The restore undoes what others changed, so their changes are listed as the restore makes them.
  const undone = others.flatMap(({ path, by, unclear }): OtherChange[] => {
    const change = changed.get(path);
    return change === undefined ? [] : [{ ...change, by, unclear }];
  });
  const { project, id: from } = current;
  return { project, from, to: plan.to, changes, patch, others: undone, kept: plan.kept, undo: `snapshot:${from.slice(0, 12)}` };
}

/** Carries out the plan, unless the files have changed since. */
export async function restoreFiles(deps: EngineDeps, plan: Pick<FilesRestorePlan, "project" | "from" | "to">): Promise<void> {
  const snapshots = snapshotsOf(deps);
  if ((await takeState(snapshots, plan.project)).id !== plan.from)
    throw new Fault("usage", "the files have changed since the plan was made; nothing was restored", {
      hint: "run the command again to see the current diff",
    });
  await snapshots.restore(plan.project, plan.from, plan.to);
}

/** The branch is a session's path from its first node to its tip. */
export async function readBranchFiles(deps: EngineDeps, params: { session: string }): Promise<BranchFilesReport> {
  const store = await deps.store();
  const path = await store.path((await store.findSession(params.session, null)).tip);
  const branch = await branchFiles(store, deps.snapshots, { path, start: 0 });
  if (branch === null) return { project: null, files: null, otherFiles: [], unknownFiles: 0, patch: "" };
  const { project, changes, others, unknown, patch } = branch;
  return { project, files: changes, otherFiles: others, unknownFiles: unknown, patch };
}

async function diffStates(deps: EngineDeps, snapshots: Snapshots, from: ComparedState, to: ComparedState): Promise<FilesDiff> {
  const [changes, patch] = await compare(snapshots, from.project, [from.id, to.id]);
  const hasCredits = changes.length > 0 && from.node !== null && to.at !== unknownTime;
  const credits = hasCredits ? await creditChanges(await deps.store(), snapshots, { from, to }) : new Map<string, Credit>();
  const others = changes.flatMap((change): OtherChange[] => {
    const credit = credits.get(change.path);
    return credit === undefined ? [] : [{ ...change, ...credit }];
  });
  return { project: from.project, from: from.id, to: to.id, changes, patch, others };
}

function compare(snapshots: Snapshots, project: string, [from, to]: [string, string]) {
  return Promise.all([snapshots.changes(project, from, to), snapshots.patch(project, from, to)]);
}

export function snapshotsOf(deps: EngineDeps): Snapshots {
  if (deps.snapshots === null) throw new Fault("usage", "files are not recorded with --ephemeral");
  return deps.snapshots;
}

export async function takeState(snapshots: Snapshots, project: string): Promise<ComparedState> {
  const id = await snapshots.take(project);
  if (id === null) throw new Fault("file-unreadable", `the files of ${project} can't be recorded, so they can't be compared`);
  return { project, id, at: Date.now(), node: null };
}

/** The time of a snapshot that the user named is not recorded, so its changes can't be credited. */
const unknownTime = -1;

type Position = {
  /** A node, a session (for its tip), or `snapshot:<id>` of the directory's project. */
  position: string;
  directory: string;
  /** The command that takes another position, for a hint. */
  command: string;
};

export async function findState(
  deps: EngineDeps,
  snapshots: Snapshots,
  { position, directory, command }: Position,
): Promise<ComparedState> {
  const project = deps.projectOf(directory);
  if (position.startsWith("snapshot:")) {
    const id = await snapshots.find(project, position.slice("snapshot:".length));
    if (id === null) throw new Fault("usage", `no ${position} of ${project} was recorded`);
    return { project, id, at: unknownTime, node: null };
  }
  if (!deps.hasStore())
    throw new Fault("node-unknown", `there is no node "${position}" yet`, { hint: 'start a session: skein run "task"' });
  const store = await deps.store();
  const node = await findNodeOrTip(store, position, project);
  return { ...(await requireState(store, node, command)), node };
}

async function findNodeOrTip(store: Store, idOrName: string, project: string): Promise<Node["id"]> {
  try {
    return (await store.findNode(idOrName)).id;
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "node-unknown") throw error;
    const session = await store.findSession(idOrName, project).catch(() => null);
    if (session === null) throw error;
    if (session.tip === null) throw new Fault("usage", `the session ${idOrName} is empty`);
    return session.tip;
  }
}
