// The transcripts of other agents as sessions: lists and searches them, and imports one when a command names it.
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { looksLikeSessionId } from "../../protocol/api/session-name.ts";
import {
  transcriptAgents,
  type AgentTranscript,
  type AgentTranscripts,
  type FoundMessage,
  type IndexedTranscript,
} from "../../protocol/transcripts/agent-transcript.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { EngineDeps } from "../engine.ts";
import { importTranscript } from "./import.ts";

type ListParams = Parameters<Api["transcript"]["list"]>[0];
type SearchParams = Parameters<Api["transcript"]["search"]>[0];

export async function listTranscripts(deps: EngineDeps, { agents, project, limit, onProgress }: ListParams): Promise<AgentTranscript[]> {
  const port = requirePort(deps);
  await port.update(agents, onProgress);
  return Promise.all((await port.list({ agents, project, limit })).map((transcript) => withSession(deps, transcript)));
}

export async function searchTranscripts(deps: EngineDeps, params: SearchParams): Promise<FoundMessage[]> {
  const { query, agents, project, limit, onProgress } = params;
  const port = requirePort(deps);
  await port.update(agents, onProgress);
  const found = await port.search(query, { agents, project, limit });
  return Promise.all(found.map(async (message) => ({ ...message, transcript: await withSession(deps, message.transcript) })));
}

function requirePort({ agentTranscripts }: EngineDeps): AgentTranscripts {
  if (agentTranscripts !== undefined) return agentTranscripts;
  throw new Fault("usage", "an ephemeral run does not read the sessions of other agents", { hint: "leave --ephemeral out" });
}

async function withSession(deps: EngineDeps, transcript: IndexedTranscript): Promise<AgentTranscript> {
  const session = deps.hasStore() ? await (await deps.store()).importedSession(transcript.agent, transcript.nativeId) : null;
  return { ...transcript, session: session?.id ?? null };
}

/** Imports the transcript that an id names. Null if none does. A name is never the id of a transcript. */
export async function importNamed(deps: EngineDeps, id: string, directory: string): Promise<Session | null> {
  if (!looksLikeSessionId(id) && !id.startsWith("ses_")) return null;
  const transcript = (await deps.agentTranscripts?.find(id)) ?? null;
  return transcript === null ? null : importFound(deps, transcript, directory);
}

/** Adds what another agent has written to its transcript since the last import. A session with a running turn stays as it is. */
export async function withNewMessages(deps: EngineDeps, session: Session): Promise<Session> {
  const { source } = session;
  if (source === undefined || !(transcriptAgents as readonly string[]).includes(source.agent)) return session;
  try {
    const transcript = (await deps.agentTranscripts?.changed(source.agent, source.nativeId)) ?? null;
    return transcript === null ? session : await importFound(deps, transcript, session.directory);
  } catch (error) {
    if (error instanceof Fault) return session;
    throw error;
  }
}

/** The session works where the agent worked, if that directory still exists and has no secrets. */
async function importFound(deps: EngineDeps, transcript: IndexedTranscript, fallback: string): Promise<Session> {
  const port = requirePort(deps);
  const from = await port.open(transcript);
  const named = transcript.directory;
  const directory = named !== null && (await deps.isWorkDirectory(named)) ? named : fallback;
  const { session } = await importTranscript(deps, { from, format: transcript.agent, name: null, directory });
  await port.noteImported(transcript);
  return session;
}
