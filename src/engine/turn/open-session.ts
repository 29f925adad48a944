// Finds or creates the session of a turn: by name or id, the project's latest, or a new one.
import type { SessionOpenParams } from "../../protocol/api/api.ts";
import { refuseArchived } from "../../protocol/api/archived.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Agent } from "../../protocol/api/ports.ts";
import { looksLikeSessionId } from "../../protocol/api/session-name.ts";
import { homeProject, sessionLabel, type Session } from "../../protocol/tree/turn.ts";
import type { WorktreeRequest } from "../../protocol/worktree/ports.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";

/** `forkAt`: a new session starts from this node, in the tree of this session. */
type NewSessionParams = SessionOpenParams & { forkAt?: { session: string; node: string } };

/** The session becomes the project's current one, unless it is a sub-session. A session that executes a plan is no sub-session. */
export async function openSession(deps: EngineDeps, params: NewSessionParams): Promise<Session> {
  const session = await findOrCreate(deps, params);
  refuseArchived(session);
  refuseOtherPlace(session, params);
  if (session.parentSession === null || session.plan !== undefined)
    for (const project of new Set([session.project, homeProject(session)])) deps.setCurrent(project, session.id);
  return session;
}

async function findOrCreate(deps: EngineDeps, params: NewSessionParams): Promise<Session> {
  const { find } = params;
  const project = deps.projectOf(params.directory);
  if (find.by === "new") return create(deps, params, params.name ?? null);
  if (find.by === "latest") {
    const latest = await currentSession(deps, project);
    if (latest !== null) return latest;
    throw new Fault("session-unknown", `no session in ${project} to continue`, { hint: 'start one: skein run "task"' });
  }
  if (find.by === "interrupted") {
    const interrupted = deps.hasStore() ? await (await deps.store()).interruptedSession(project) : null;
    if (interrupted !== null) return interrupted;
    throw new Fault("session-unknown", `no interrupted turn in ${project} to resume`, {
      hint: "`skein list` shows its sessions; name one: skein run --resume <session>",
    });
  }
  try {
    return await findSession(deps, find.wanted, params.directory);
  } catch (error) {
    const mayCreate = find.orCreate && !looksLikeSessionId(find.wanted);
    if (!(error instanceof Fault) || error.code !== "session-unknown" || !mayCreate) throw error;
    return createOrFind(deps, params, find.wanted, project);
  }
}

/**
 * Finds a session by id, end of an id, or name. A name in the directory's project takes precedence. A session of another
 * agent is imported first, and gets the messages that were added to its transcript since.
 */
export async function findSession(deps: EngineDeps, idOrName: string, directory: string): Promise<Session> {
  try {
    const session = await findStored(deps, idOrName, directory);
    return session.source === undefined ? session : (await loadTranscripts()).withNewMessages(deps, session);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "session-unknown") throw error;
    const imported = await (await loadTranscripts()).importNamed(deps, idOrName, directory);
    if (imported !== null) return imported;
    throw error;
  }
}

const loadTranscripts = () => import("../tree/agent-transcripts.ts");

async function findStored(deps: EngineDeps, idOrName: string, directory: string): Promise<Session> {
  if (!deps.hasStore())
    throw new Fault("session-unknown", `there is no session "${idOrName}" yet`, { hint: 'start one: skein run "task"' });
  return (await deps.store()).findSession(idOrName, deps.projectOf(directory));
}

/** The session that was used last, else the latest; null if there is none. */
export async function currentSession(deps: EngineDeps, project: string): Promise<Session | null> {
  if (!deps.hasStore()) return null;
  const store = await deps.store();
  const id = deps.getCurrent(project);
  const current = id === null ? null : await store.session(id);
  if (current !== null && current.archivedAt === null) return current;
  return (await store.listSessions({ project, limit: 1 }))[0] ?? null;
}

/** Makes a session the project's current one. */
export async function useSession(deps: EngineDeps, params: { session: string; directory: string }): Promise<void> {
  refuseArchived(await (await deps.store()).requireSession(params.session));
  deps.setCurrent(deps.projectOf(params.directory), params.session);
}

/** Returns the existing session if another process has created one of that name meanwhile. */
async function createOrFind(deps: EngineDeps, params: SessionOpenParams, name: string, project: string): Promise<Session> {
  try {
    return await create(deps, params, name);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "session-exists") throw error;
    return (await deps.store()).findSession(name, project);
  }
}

async function create(deps: EngineDeps, params: NewSessionParams, name: string | null): Promise<Session> {
  const { directory, task, toolLevel } = params;
  const project = deps.projectOf(directory);
  const chosen = await deps.chooseAgent(params.agent, params.model);
  findAgent(deps, chosen.agent);
  const model = await initialModel(deps, chosen, task);
  if (params.parentSession !== null && !deps.hasStore())
    throw new Fault("session-unknown", `there is no session "${params.parentSession}"`);
  const store = await deps.store();
  const parent = params.parentSession === null ? null : (await store.findSession(params.parentSession, project)).id;
  const parentSession = parent ?? (await plannerOf(deps, store, params, project));
  const id = params.id ?? Bun.randomUUIDv7();
  const transcript = await deps.transcriptFor({ id, project, transcriptDir: params.transcriptDir, createdAt: Date.now() });
  const plan = params.plan?.text;
  const { agent } = chosen;
  const wanted = { project, directory, id, request: params.worktree ?? null };
  const place = await placeOf(deps, wanted, params.forkAt);
  const session = { id, name, agent, model, task, toolLevel, parentSession, transcript, plan };
  if (params.forkAt === undefined) return store.createSession({ ...session, ...place });
  return store.forkSession(params.forkAt.session, params.forkAt.node, { ...session, place });
}

type WantedPlace = { project: string; directory: string; id: string; request: WorktreeRequest | null };

/** The directory itself, or a worktree. The worktree of a fork begins with the files of its node. */
async function placeOf(deps: EngineDeps, wanted: WantedPlace, forkAt: NewSessionParams["forkAt"]) {
  const { project, directory, id, request } = wanted;
  if (request === null) return { directory, project };
  const { openForkWorktree, openSessionWorktree } = await import("../worktrees/open-worktree.ts");
  if (forkAt === undefined) return openSessionWorktree(deps, { project, directory, id, request });
  const from = await (await deps.store()).requireSession(forkAt.session);
  return openForkWorktree(deps, from, { node: forkAt.node, id, request });
}

/** A session keeps its place. */
function refuseOtherPlace(session: Session, { worktree }: SessionOpenParams): void {
  if (!worktree || (session.worktree !== undefined && (worktree.name ?? session.worktree.name) === session.worktree.name)) return;
  const label = sessionLabel(session);
  throw new Fault("usage", `session ${label} works in ${session.directory}, and a session keeps its place`, {
    hint: `continue it in a new worktree: skein fork ${label} -w ${worktree.name ?? ""}`.trimEnd(),
  });
}

/** A session without a task starts no turn yet, so it needs no key: its first turn chooses the model. */
async function initialModel(deps: EngineDeps, { agent, model }: { agent: string; model: string | null }, task: string | null) {
  try {
    return await deps.chooseModel(agent, model);
  } catch (error) {
    const isKeyMissing = error instanceof Fault && error.code === "auth";
    if (isKeyMissing && task === null && model === null) return null;
    throw error;
  }
}

/** The session that wrote the project's plan, if it still exists. */
async function plannerOf(deps: EngineDeps, store: Store, { plan }: SessionOpenParams, project: string): Promise<string | null> {
  const planner = plan === undefined ? null : deps.plannerOf(project, plan.file);
  return planner === null ? null : ((await store.session(planner))?.id ?? null);
}

export function findAgent(deps: EngineDeps, name: string): Agent {
  const agent = deps.agents.find((candidate) => candidate.name === name);
  if (agent !== undefined) return agent;
  const choices = deps.agents.filter((candidate) => candidate.takesTasks);
  const names = choices.map((candidate) => candidate.name).join(", ");
  throw new Fault("not-installed", `no agent "${name}"`, { hint: `the agents are: ${names}` });
}
