// Which session a turn goes to: found by name or id, the project's latest, or made now.
import type { SessionOpen } from "../protocol/api.ts";
import { Fault } from "../protocol/error.ts";
import type { Session } from "../protocol/turn.ts";
import type { EngineParts } from "./engine.ts";

export async function openSession(parts: EngineParts, params: SessionOpen): Promise<Session> {
  const store = await parts.store();
  const { find } = params;
  const project = parts.projectOf(params.directory);
  if (find.by === "latest") {
    const [latest] = await store.listSessions({ project, limit: 1 });
    if (latest !== undefined) return latest;
    throw new Fault("session-unknown", `no session in ${project} to continue`, { hint: 'start one: skein run "task"' });
  }
  if (find.by === "name") {
    try {
      return await store.findSession(find.wanted, project);
    } catch (error) {
      const isNew = error instanceof Fault && error.code === "session-unknown" && find.orCreate && !looksLikeId(find.wanted);
      if (!isNew) throw error;
      return create(parts, params, find.wanted);
    }
  }
  return create(parts, params, params.name ?? null);
}

async function create(parts: EngineParts, params: SessionOpen, name: string | null): Promise<Session> {
  const store = await parts.store();
  const { directory, task, toolLevel } = params;
  const project = parts.projectOf(directory);
  const chosen = parts.chooseAgent(params.agent, params.model);
  const model = await parts.chooseModel(chosen.model);
  const parentSession = params.parentSession === null ? null : (await store.findSession(params.parentSession, project)).id;
  const id = params.id ?? Bun.randomUUIDv7();
  const transcript = parts.transcriptFor({ id, project, transcriptDir: params.transcriptDir, createdAt: Date.now() });
  return store.createSession({ id, name, agent: chosen.agent, model, directory, project, task, toolLevel, parentSession, transcript });
}

function looksLikeId(wanted: string): boolean {
  return /^[0-9a-f-]{8,36}$/.test(wanted) && /\d/.test(wanted);
}
