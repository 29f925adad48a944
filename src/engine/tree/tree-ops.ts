// Operations on the tree, as in git: fork, move, rename, archive, add. A write takes the session's lease and repairs an
// interrupted turn first.
import { Fault } from "../../protocol/api/error.ts";
import type { Handle } from "../../protocol/tree/handle.ts";
import { taskOf, type Node, type NewNode } from "../../protocol/tree/node.ts";
import { homeProject, type Session } from "../../protocol/tree/turn.ts";
import type { WorktreeRequest } from "../../protocol/worktree/ports.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { Recorder } from "../record/recorder.ts";
import { recover } from "../record/recover.ts";
import { settleAsks } from "../record/settle-asks.ts";
import { openTranscript, TurnTranscript } from "../record/transcripts.ts";

/** Finds a node by id or tail. */
export async function findNode(deps: EngineDeps, id: string): Promise<Node> {
  if (!deps.hasStore()) throw new Fault("node-unknown", `there is no node "${id}"`);
  return (await deps.store()).findNode(id);
}

type ForkParams = { session: string; at: string | null; name: string | null; worktree?: WorktreeRequest | null };

/** Creates a session at an old node. The old session keeps its tip. Copies no nodes. */
export async function fork(deps: EngineDeps, params: ForkParams): Promise<Session> {
  const store = await deps.store();
  const from = await store.requireSession(params.session);
  const node = params.at ?? from.tip;
  if (node === null) throw new Fault("usage", "an empty session can't be forked", { hint: "send a message to the session first" });
  const id = Bun.randomUUIDv7();
  const place = params.worktree ? await placeOfFork(deps, from, { node, id, request: params.worktree }) : undefined;
  const forked = await store.forkSession(from.id, node, { id, name: params.name, place });
  const project = homeProject(forked);
  const transcript = await deps.transcriptFor({ id, project, transcriptDir: null, createdAt: forked.createdAt });
  return store.updateSession(forked.id, { transcript, task: await taskAt(store, from, node) });
}

async function placeOfFork(deps: EngineDeps, from: Session, fork: { node: string; id: string; request: WorktreeRequest }) {
  const { openForkWorktree } = await import("../worktrees/open-worktree.ts");
  return openForkWorktree(deps, from, fork);
}

/** Points the session at another node of its tree. Files stay as they are. */
export async function move(deps: EngineDeps, params: { session: string; node: string | null }): Promise<Session> {
  return withLease(deps, params.session, async (store) => {
    const task = await taskAt(store, await store.requireSession(params.session), params.node);
    return store.updateSession(params.session, { tip: params.node, task });
  });
}

/** The session's task at `node`. It changes only with the first node of the path; null before the first node. */
export async function taskAt(store: Store, { tip, task }: Session, node: string | null): Promise<string | null> {
  if (node === null || node === tip) return node === null ? null : task;
  const [before] = await store.path(tip);
  const [first] = await store.path(node);
  return first === undefined || first.id === before?.id ? task : taskOf(first);
}

export async function addMessage(deps: EngineDeps, params: { session: string; text: string }): Promise<Node> {
  const node: NewNode = { author: "user", parts: [{ kind: "text", text: params.text }] };
  return addNode(deps, params.session, node);
}

/** Adds a node outside of any turn. It closes an open question, as a new prompt does. */
export async function addNode(deps: EngineDeps, session: string, node: NewNode): Promise<Node> {
  return withLease(deps, session, async (store, recorder) => {
    await settleAsks(store, recorder, session, "new-prompt");
    return recorder.addNode(node, null);
  });
}

export async function rename(deps: EngineDeps, params: { session: string; name: string }): Promise<Session> {
  return (await deps.store()).updateSession(params.session, { name: params.name });
}

/** Archives a session; its nodes stay. A running session can't be archived. An archived one keeps its time of archiving. */
export async function archive(deps: EngineDeps, params: { session: string }): Promise<Session> {
  const session = await (await deps.store()).requireSession(params.session);
  if (session.archivedAt !== null) return session;
  return withLease(deps, params.session, async (store) => store.updateSession(params.session, { archivedAt: Date.now() }));
}

export async function restore(deps: EngineDeps, params: { session: string }): Promise<Session> {
  return (await deps.store()).updateSession(params.session, { archivedAt: null });
}

/** The ends of all branches, oldest first. */
export function leavesOf<N extends Pick<Node, "id" | "parent">>(nodes: N[]): N[] {
  const parents = new Set(nodes.map((node) => node.parent));
  return nodes.filter((node) => !parents.has(node.id));
}

/** Every handle on the path to a node, or to the session's tip. */
export async function handlesOnPath(deps: EngineDeps, params: { session: string; node: string | null }): Promise<Handle[]> {
  const store = await deps.store();
  const path = await (params.node === null ? store.sessionPath(params.session) : store.path(params.node));
  return path
    .flatMap(({ parts }) => parts)
    .flatMap((part) => ((part.kind === "result" || part.kind === "handle") && part.handle !== undefined ? [part.handle] : []));
}

/** Runs `act` with the session's lease, so that no other process writes to it. */
export async function withLease<T>(deps: EngineDeps, id: string, act: (store: Store, recorder: Recorder) => Promise<T>): Promise<T> {
  const store = await deps.store();
  const session = await store.requireSession(id);
  const lease = await store.acquire(id);
  let transcript: TurnTranscript | null = null;
  try {
    const file = await openTranscript(deps, store, session);
    transcript = new TurnTranscript(file, (message) => recorder.publishTransient({ type: "warning.raised", message }));
    const recorder = new Recorder(store, lease, transcript, (event) => deps.running.publish(event));
    await recover(store, recorder, id);
    return await act(store, recorder);
  } finally {
    transcript?.close();
    await store.release(lease);
  }
}
