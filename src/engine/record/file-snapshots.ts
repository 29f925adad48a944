// Records the project's files before and after each turn, compares the files of two nodes, and restores an old state.
// Moving in the tree never changes files; only `restoreFiles` does.
import { cutText } from "../../kit/text/cut-text.ts";
import type { FilesDiff, FilesRestorePlan } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { FileChange } from "../../protocol/tree/file-changes.ts";
import { shortId, type Node } from "../../protocol/tree/node.ts";
import { toolsByLevel } from "../../protocol/api/policy.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";
import { fileChangingTools } from "../../protocol/api/tool-table.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import type { RunningTurn } from "../turn/running-turns.ts";

export type FileRecorder = {
  /** Records the files before the turn, once. Never rejects. */
  recordBefore: () => Promise<void>;
  recordAfter: (mayHaveChanged: boolean) => Promise<void>;
};

type RecordedTurn = Pick<RunningTurn, "params" | "store" | "lease" | "deadline">;

/** Records nothing for a turn without tools that change files. */
export function createFileRecorder(
  snapshots: Snapshots | null,
  { params, store, lease, deadline }: RecordedTurn,
  { project, turn }: { project: string; turn: string },
): FileRecorder {
  const tools = params.command === null ? (params.tools ?? toolsByLevel[params.toolLevel]) : ["bash"];
  const stopped = new Promise<null>((resolve) => deadline.signal.addEventListener("abort", () => resolve(null), { once: true }));
  let before: Promise<string | null> | null = null;

  async function takeBefore(source: Snapshots): Promise<string | null> {
    const id = await Promise.race([source.take(project), stopped]);
    if (id !== null) await store.saveTurnFiles(lease, turn, { project, before: id, after: null });
    return id;
  }
  return {
    async recordBefore() {
      if (snapshots === null || !tools.some((tool) => fileChangingTools.has(tool))) return;
      before ??= takeBefore(snapshots).catch(() => null);
      await before;
    },
    async recordAfter(mayHaveChanged) {
      const beforeId = await before;
      if (beforeId === null || snapshots === null) return;
      const after = mayHaveChanged ? await snapshots.take(project) : beforeId;
      await store.saveTurnFiles(lease, turn, { project, before: beforeId, after });
    },
  };
}

/** A state of a project's files. */
export type FileState = { project: string; id: string };

/**
 * The state of the files at a node: for a prompt the state before its turn, else the state after it. A node whose turn
 * recorded nothing has the state of the nearest node before it. Null if there is none.
 */
export async function fileStateAt(store: Store, node: string): Promise<FileState | null> {
  const path = (await store.path(node)).toReversed();
  const recorded = await store.turnFiles([...new Set(path.flatMap(({ turn }) => (turn === null ? [] : [turn])))]);
  for (const pathNode of path) {
    const files = pathNode.turn === null ? undefined : recorded.get(pathNode.turn);
    if (files !== undefined) return { project: files.project, id: isPrompt(pathNode) ? files.before : (files.after ?? files.before) };
  }
  return null;
}

/** The output of a command that the user ran also has the author `user`, but is no prompt. */
function isPrompt({ author, parts }: Node): boolean {
  return author === "user" && !parts.some((part) => part.kind === "handle");
}

/** The file changes between two nodes; null if they were not recorded. */
export async function changesBetween(deps: EngineDeps, from: string, to: string): Promise<FileChange[] | null> {
  return (await diffNodes(deps, from, to))?.changes ?? null;
}

async function diffNodes({ snapshots, ...deps }: EngineDeps, from: string, to: string): Promise<FilesDiff | null> {
  const store = await deps.store();
  const [first, second] = [await fileStateAt(store, from), await fileStateAt(store, to)];
  if (snapshots === null || first === null || second === null || first.project !== second.project) return null;
  return diffStates(snapshots, first, second.id);
}

async function diffStates(snapshots: Snapshots, { project, id: from }: FileState, to: string): Promise<FilesDiff> {
  const [changes, patch] = await Promise.all([snapshots.changes(project, from, to), snapshots.patch(project, from, to)]);
  return { project, from, to, changes, patch };
}

const maxListedFiles = 50;
const maxPatchBytes = 16 * 1024;

/** The file changes of a branch as lines for a model; empty if there are none or they were not recorded. */
export async function branchFiles(deps: EngineDeps, from: string, to: string): Promise<string[]> {
  const { changes, patch } = (await diffNodes(deps, from, to)) ?? { changes: [], patch: "" };
  if (changes.length === 0) return [];
  const lines = changes.slice(0, maxListedFiles).map(({ kind, path, added, removed }) => `- ${kind} ${path} (+${added} -${removed})`);
  const more = changes.length > maxListedFiles ? [`- and ${changes.length - maxListedFiles} more`] : [];
  const diff = cutText(patch, maxPatchBytes, { keep: "head" }).text.trimEnd();
  return ["", "Files it changed:", ...lines, ...more, "", "```diff", diff, "```"];
}

export async function diffFiles(deps: EngineDeps, params: { from: string; to: string | null; directory: string }): Promise<FilesDiff> {
  const snapshots = snapshotsOf(deps);
  const from = await findFileState(deps, snapshots, params.from, params.directory);
  const to =
    params.to === null ? await takeState(snapshots, from.project) : await findFileState(deps, snapshots, params.to, params.directory);
  if (from.project !== to.project)
    throw new Fault("usage", "the two nodes belong to different projects", { hint: `${from.project} and ${to.project}` });
  return diffStates(snapshots, from, to.id);
}

/** The changes that a restore would make. Records the current files first, so that the restore can be undone. */
export async function planRestore(deps: EngineDeps, params: { to: string; directory: string }): Promise<FilesRestorePlan> {
  const snapshots = snapshotsOf(deps);
  const target = await findFileState(deps, snapshots, params.to, params.directory);
  const current = await takeState(snapshots, target.project);
  const plan = await snapshots.planRestore(current.project, current.id, target.id);
  return { ...(await diffStates(snapshots, current, plan.to)), kept: plan.kept, undo: `snapshot:${current.id.slice(0, 12)}` };
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

function snapshotsOf(deps: EngineDeps): Snapshots {
  if (deps.snapshots === null) throw new Fault("usage", "files are not recorded with --ephemeral");
  return deps.snapshots;
}

async function takeState(snapshots: Snapshots, project: string): Promise<FileState> {
  const id = await snapshots.take(project);
  if (id === null) throw new Fault("file-unreadable", `the files of ${project} can't be recorded, so they can't be compared`);
  return { project, id };
}

/** `position` is a node, a session (for its tip), or `snapshot:<id>` of the directory's project. */
async function findFileState(deps: EngineDeps, snapshots: Snapshots, position: string, directory: string): Promise<FileState> {
  const project = deps.projectOf(directory);
  if (position.startsWith("snapshot:")) {
    const id = await snapshots.find(project, position.slice("snapshot:".length));
    if (id === null) throw new Fault("usage", `no ${position} of ${project} was recorded`);
    return { project, id };
  }
  if (!deps.hasStore())
    throw new Fault("node-unknown", `there is no node "${position}" yet`, { hint: 'start a session: skein run "task"' });
  const store = await deps.store();
  const node = await findNodeOrTip(store, position, project);
  const state = await fileStateAt(store, node);
  if (state !== null) return state;
  throw new Fault("usage", `no files were recorded for ${shortId(node)} or anything before it`, {
    hint: "a turn records files only if it has tools, git is installed, and the project is not the home directory",
  });
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
