// Takes back the file changes of one turn, and puts them back. A file that others changed since stays as it is.
import { Fault } from "../../protocol/api/error.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { EntryChange, FileChange } from "../../protocol/tree/file-changes.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { UndoneTurn } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import { creditedChanges, recordsOf, unrecordedAnswers } from "./branch-files.ts";
import { joinChanges, type CreditedChange } from "./file-history.ts";
import { takeState } from "./files-methods.ts";

/** Changes to make, from the recorded state `base`: each file must still be as it is there. */
export type FileEdit = { project: string; base: string; edits: EntryChange[]; contested: EntryChange[] };

export type FileEditPlan = {
  /** The states before and after; null if no file changes. */
  files: UndoneTurn["files"];
  changes: FileChange[];
  kept: string[];
};

/** The edit that removes the changes of `path` from index `start` on. Null if they are not known. */
export async function editToUndo(store: Store, snapshots: Snapshots, turn: { path: Node[]; start: number }): Promise<FileEdit | null> {
  const { own } = await recordsOf(store, turn.path, turn.start);
  if (unrecordedAnswers(turn.path.slice(turn.start), own) > 0 || own.some(({ after }) => after === null)) return null;
  const last = own.toSorted((a, b) => a.endedAt! - b.endedAt!).at(-1);
  if (last === undefined) return { project: "", base: "", edits: [], contested: [] };
  const { project, ownChanges, others } = await creditedChanges(store, snapshots, { own, shared: [] });
  const edits = joinChanges(ownChanges).map(({ path, before, after }) => ({ path, before: after, after: before }));
  const isContested = ({ path }: EntryChange) => isChangedByOthers(path, ownChanges, others);
  return { project, base: last.after!, edits: edits.filter((edit) => !isContested(edit)), contested: edits.filter(isContested) };
}

/** The edit that undoes an undo. */
export async function editToRedo(snapshots: Snapshots, { project, from, to }: NonNullable<UndoneTurn["files"]>): Promise<FileEdit> {
  const [edits = []] = await snapshots.entries(project, [[to, from]]);
  return { project, base: to, edits, contested: [] };
}

export async function planEdit(snapshots: Snapshots, { project, base, edits, contested }: FileEdit): Promise<FileEditPlan> {
  if (edits.length === 0) return { files: null, changes: [], kept: await readablePaths(snapshots, project, contested) };
  const { id: from } = await takeState(snapshots, project);
  const [since = []] = await snapshots.entries(project, [[base, from]]);
  const versions = new Map(since.map(({ path, after }) => [path, after]));
  const open = edits.filter(({ path, after }) => !versions.has(path) || versions.get(path) !== after);
  const changedSince = open.filter(({ path }) => versions.has(path));
  const possible = open.filter(({ path }) => !versions.has(path));
  const target = await snapshots.replace(project, from, new Map(possible.map(({ path, after }) => [path, after])));
  const { to, kept } = await snapshots.planRestore(project, from, target);
  const changes = await snapshots.changes(project, from, to);
  const keptPaths = [...(await readablePaths(snapshots, project, [...contested, ...changedSince])), ...kept];
  return { files: changes.length === 0 ? null : { project, from, to }, changes, kept: keptPaths.toSorted() };
}

export async function applyEdit(snapshots: Snapshots, { files }: FileEditPlan): Promise<void> {
  if (files === null) return;
  try {
    await snapshots.restore(files.project, files.from, files.to);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "file-unwritable") throw error;
    const hint = `some files may have been changed; undo with: skein files restore snapshot:${files.from.slice(0, 12)}`;
    throw new Fault(error.code, error.message, { hint, cause: error });
  }
}

/** Whether others changed the file after the turn's first change of it. */
function isChangedByOthers(path: string, own: readonly CreditedChange[], others: readonly CreditedChange[]): boolean {
  const first = own.find((change) => change.path === path);
  return others.some((change) => change.path === path && change.at >= first!.at);
}

async function readablePaths(snapshots: Snapshots, project: string, changes: readonly EntryChange[]): Promise<string[]> {
  return changes.length === 0 ? [] : (await snapshots.describe(project, changes)).changes.map(({ path }) => path);
}
