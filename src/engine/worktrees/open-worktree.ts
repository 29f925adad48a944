// Creates the worktree of a new session, or opens one that exists. The record is stored before any file is written, so a
// killed process leaves a worktree that the next one completes.
import { lstatSync } from "node:fs";
import { join, relative } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { worktreeLocation } from "../../protocol/tree/skein-directory.ts";
import { homeProject, type Session } from "../../protocol/tree/turn.ts";
import type { SessionWorktrees, WorktreeRecord, WorktreeRequest, WorktreeStart } from "../../protocol/worktree/ports.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { nodeState, requireState } from "../files/file-states.ts";

/** The fields of a session that works in a worktree. */
type SessionLocation = Pick<Session, "directory" | "project"> & { worktree: NonNullable<Session["worktree"]> };

type NewWorktree = { project: string; directory: string; id: string; request: WorktreeRequest };

/** A worktree that has the requested name is used again, as it is. */
export async function openSessionWorktree(deps: EngineDeps, requested: NewWorktree): Promise<SessionLocation> {
  const { project, request } = requested;
  const store = await deps.store();
  const existing = request.name === null ? null : await store.worktree(project, request.name);
  if (existing !== null) {
    deps.warn(`worktree ${existing.name} exists, so the session continues in it: ${existing.directory}`);
    return locationIn(await openFiles(deps, existing), requested);
  }
  return locationIn(await createWorktree(deps, requested, { from: request.withChanges ? "files" : "commit" }), requested);
}

/** The worktree begins with the files of the node at which the session was forked. */
export async function openForkWorktree(
  deps: EngineDeps,
  from: Session,
  { node, id, request }: { node: string; id: string; request: WorktreeRequest },
): Promise<SessionLocation> {
  const store = await deps.store();
  const project = homeProject(from);
  if (request.name !== null && (await store.worktree(project, request.name)) !== null)
    throw new Fault("usage", `worktree ${request.name} exists already, and a fork begins with the files of its node`, {
      hint: "choose another name, or leave it out",
    });
  const directory = from.worktree === undefined ? from.directory : join(project, relative(from.project, from.directory));
  const requested = { project, directory, id, request };
  return locationIn(await createWorktree(deps, requested, await startOfFork(store, { node, request, project })), requested);
}

/** Files that were recorded in another worktree are work on top of that worktree's start. */
async function startOfFork(
  store: Store,
  { node, request, project }: { node: string; request: WorktreeRequest; project: string },
): Promise<WorktreeStart> {
  // No turn before the node had tools, so the conversation changed no file.
  if ((await nodeState(store, node)).type === "none") return { from: request.withChanges ? "files" : "commit" };
  const state = await requireState(store, node, "fork");
  const files = { project: state.project, tree: state.id };
  const source = await store.worktreeAt(state.project);
  if (source === null || source.project !== project) return { from: "recorded", files };
  return { from: "worktree", name: source.name, base: source.base, files };
}

async function createWorktree(deps: EngineDeps, { project, id, request }: NewWorktree, start: WorktreeStart): Promise<WorktreeRecord> {
  const worktrees = worktreesOf(deps);
  const store = await deps.store();
  const name = request.name ?? shortId(id);
  const { base, files, notes } = await worktrees.start(project, name, start);
  const { directory, branch } = worktreeLocation(project, name);
  const settings = await worktrees.settings(project);
  const ignored = await worktrees.planIgnored(project, { withIgnored: request.withIgnored || settings.withIgnored });
  const usedPorts = (await store.listWorktrees(null)).map(({ port }) => port);
  const record: WorktreeRecord = {
    project,
    name,
    directory,
    branch,
    base,
    files,
    port: await worktrees.choosePort(directory, usedPorts),
    linked: ignored.linked,
    copied: ignored.copied,
    setup: settings.setup === null ? "none" : "pending",
    createdAt: Date.now(),
    mergedAt: null,
    merging: null,
  };
  // Another process may have created one of that name meanwhile.
  const isAdded = await store.addWorktree(record);
  for (const note of [...notes, ...ignored.notes]) deps.warn(note);
  return openFiles(deps, isAdded ? record : ((await store.worktree(project, name)) ?? record));
}

/** Writes the files that are still missing, for example after a kill. */
async function openFiles(deps: EngineDeps, record: WorktreeRecord): Promise<WorktreeRecord> {
  await worktreesOf(deps).open(record);
  return record;
}

/** A session that started in a directory of the project works in the same directory of the worktree, if it is there. */
function locationIn(record: WorktreeRecord, requested: Pick<NewWorktree, "project" | "directory">): SessionLocation {
  const { name, project, directory: root, branch, base } = record;
  const inner = join(root, relative(requested.project, requested.directory));
  const isInWorktree = inner.startsWith(`${root}/`) && lstatSync(inner, { throwIfNoEntry: false })?.isDirectory() === true;
  return { directory: isInWorktree ? inner : root, project: root, worktree: { name, project, directory: root, branch, base } };
}

export function worktreesOf({ worktrees }: EngineDeps): SessionWorktrees {
  if (worktrees === null) throw new Fault("usage", "a run with --ephemeral stores nothing, so it can have no worktree");
  return worktrees;
}
