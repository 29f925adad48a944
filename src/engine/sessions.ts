// Which session a turn goes to: found by name or id, the project's latest, or made now.
import type { SessionOpen } from "../protocol/api.ts";
import { Fault } from "../protocol/error.ts";
import type { Session } from "../protocol/turn.ts";
import type { EngineParts } from "./engine.ts";

export async function openSession(parts: EngineParts, params: SessionOpen): Promise<Session> {
  const { find } = params;
  const project = parts.projectOf(params.directory);
  if (find.by === "new") return create(parts, params, params.name ?? null);
  if (find.by === "name" && find.orCreate && !parts.hasStore()) return createOrFind(parts, params, find.wanted, project);
  if (!parts.hasStore()) {
    throw new Fault("session-unknown", `there is no session ${find.by === "name" ? `"${find.wanted}"` : "to continue"} yet`, { hint: 'start one: skein run "task"' });
  }
  const store = await parts.store();
  if (find.by === "latest") {
    const [latest] = await store.listSessions({ project, limit: 1 });
    if (latest !== undefined) return latest;
    throw new Fault("session-unknown", `no session in ${project} to continue`, { hint: 'start one: skein run "task"' });
  }
  try {
    return await store.findSession(find.wanted, project);
  } catch (error) {
    const isNew = error instanceof Fault && error.code === "session-unknown" && find.orCreate && !looksLikeId(find.wanted);
    if (!isNew) throw error;
    return createOrFind(parts, params, find.wanted, project);
  }
}

/** Another process may have been faster with the same name: then it is that session. */
async function createOrFind(parts: EngineParts, params: SessionOpen, name: string, project: string): Promise<Session> {
  try {
    return await create(parts, params, name);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "session-exists") throw error;
    return (await parts.store()).findSession(name, project);
  }
}

async function create(parts: EngineParts, params: SessionOpen, name: string | null): Promise<Session> {
  const { directory, task, toolLevel } = params;
  const project = parts.projectOf(directory);
  const chosen = parts.chooseAgent(params.agent, params.model);
  const model = await parts.chooseModel(chosen.model);
  if (params.parentSession !== null && !parts.hasStore()) throw new Fault("session-unknown", `there is no session "${params.parentSession}"`);
  const store = await parts.store();
  const parentSession = params.parentSession === null ? null : (await store.findSession(params.parentSession, project)).id;
  const id = params.id ?? Bun.randomUUIDv7();
  const transcript = parts.transcriptFor({ id, project, transcriptDir: params.transcriptDir, createdAt: Date.now() });
  return store.createSession({ id, name, agent: chosen.agent, model, directory, project, task, toolLevel, parentSession, transcript });
}

function looksLikeId(wanted: string): boolean {
  return /^[0-9a-f-]{8,36}$/.test(wanted) && /\d/.test(wanted);
}
