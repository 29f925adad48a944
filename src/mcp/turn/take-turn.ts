// A turn for a caller, in a session by name: what would stop it is told before anything is written, then it runs in
// the hub and is followed for as long as the caller can wait.
import { formatDuration } from "../../kit/text/duration.ts";
import type { Api, Settings, TurnStartParams } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { configuredTurn } from "../../protocol/api/turn-start.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { followTurn } from "./follow-turn.ts";
import type { ToolAnswer, Caller, CallContext } from "../tools/tool.ts";
import { turnAnswer, type TurnOutput } from "./turn-answer.ts";

export type TakeTurnRequest = {
  sessionId: string;
  prompt: string;
  /** An agent, or a model that one brings. */
  agent: string;
  model: string | null;
  /** What differs from a turn as it is configured. */
  turn: Partial<Omit<TurnStartParams, "session" | "prompt" | "agent" | "model" | "asks">>;
  /** Once the session is there, before the turn. */
  prepare?: (session: Session) => Promise<void>;
};

export async function takeTurn(request: TakeTurnRequest, { api, directory, caller }: CallContext): Promise<ToolAnswer<TurnOutput>> {
  const settings = await api.config.values();
  const turn = { ...configuredTurn(settings), asks: asksOf(caller, settings), model: request.model, ...request.turn };
  const known = await findSession(api, request.sessionId, directory);
  if (known !== null) await refuseBusy(api, known, request.sessionId);
  await api.turn.check({ ...turn, agent: request.agent, isNew: known === null, directory });
  const session = known ?? (await openSession(api, request, directory, turn.toolLevel));
  await request.prepare?.(session);
  const events = api.turn.start({ ...turn, session: session.id, agent: request.agent, prompt: turn.team === null ? request.prompt : null });
  return turnAnswer(await followTurn({ api, caller, session, events, limitMs: caller.timeoutMs, onCancel: "stop" }));
}

/** Null when there is none yet. */
export async function findSession(api: Api, wanted: string, directory: string): Promise<Session | null> {
  try {
    return await api.session.find({ wanted, directory });
  } catch (error) {
    if (error instanceof Fault && error.code === "session-unknown") return null;
    throw error;
  }
}

function openSession(api: Api, request: TakeTurnRequest, directory: string, toolLevel: TurnStartParams["toolLevel"]): Promise<Session> {
  return api.session.open({
    find: { by: "name", wanted: request.sessionId, orCreate: true },
    directory,
    task: request.prompt,
    agent: request.agent,
    model: request.model,
    toolLevel,
    parentSession: null,
    transcriptDir: null,
  });
}

function asksOf({ elicitation: asks }: Caller, { askTimeoutMs }: Settings): TurnStartParams["asks"] {
  return asks === null ? { how: "later" } : { how: "wait", limitMs: askTimeoutMs };
}

async function refuseBusy(api: Api, session: Session, name: string): Promise<void> {
  const row = (await api.turn.list({ endedSince: null })).find((candidate) => candidate.session.id === session.id);
  if (row === undefined || row.state === "ended" || row.state === "interrupted") return;
  const time = formatDuration(Date.now() - row.turn.startedAt);
  throw new Fault("session-busy", `session "${name}" is busy: ${row.turn.agent} has been ${row.state} for ${time}`, {
    hint: "wait_session collects its answer, cancel_session stops it; for other work use another session_id",
  });
}
