// Starts a turn for a caller in a named session and follows it until the caller's time limit. Checks the turn before it
// writes anything. The turn runs in the hub.
import { formatDuration } from "../../kit/text/duration.ts";
import type { Api, Settings, TurnStartParams } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { configuredTurn } from "../../protocol/api/turn-options.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { findRunningTurn, followTurn } from "./follow-turn.ts";
import type { ToolAnswer, Caller, CallContext } from "../tools/tool.ts";
import { turnAnswer, type TurnOutput } from "./turn-answer.ts";

export type TakeTurnRequest = {
  sessionId: string;
  prompt: string;
  /** The name of an agent, or of a model that an agent can use. */
  agent: string;
  model: string | null;
  /** Overrides the configured options. */
  turn: Partial<Omit<TurnStartParams, "session" | "prompt" | "agent" | "model" | "asks">>;
  /** Called once the session exists, before the turn starts. */
  prepare?: (session: Session) => Promise<void>;
};

export async function takeTurn(request: TakeTurnRequest, ctx: CallContext): Promise<ToolAnswer<TurnOutput>> {
  const { api, directory, caller } = ctx;
  const settings = await api.config.values();
  const turn = { ...configuredTurn(settings), asks: asksParam(caller, settings), model: request.model, ...request.turn };
  const existing = await findSession(api, request.sessionId, directory);
  if (existing !== null) await refuseBusy(api, existing, request.sessionId);
  await api.turn.check({ ...turn, agent: request.agent, isNew: existing === null, directory });
  const session = existing ?? (await openSession(request, { ...ctx, toolLevel: turn.toolLevel }));
  await request.prepare?.(session);
  const events = api.turn.start({ ...turn, session: session.id, agent: request.agent, prompt: turn.team === null ? request.prompt : null });
  return turnAnswer(await followTurn({ api, caller, session, events, limitMs: caller.timeoutMs, onCancel: "stop" }));
}

/** Null if there is no such session. */
export async function findSession(api: Api, idOrName: string, directory: string): Promise<Session | null> {
  try {
    return await api.session.find({ wanted: idOrName, directory });
  } catch (error) {
    if (error instanceof Fault && error.code === "session-unknown") return null;
    throw error;
  }
}

type OpenOptions = Pick<CallContext, "api" | "directory"> & Pick<TurnStartParams, "toolLevel">;

function openSession(request: TakeTurnRequest, { api, directory, toolLevel }: OpenOptions): Promise<Session> {
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

function asksParam({ elicitation }: Caller, { askTimeoutMs }: Settings): TurnStartParams["asks"] {
  return elicitation === null ? { how: "later" } : { how: "wait", limitMs: askTimeoutMs };
}

async function refuseBusy(api: Api, session: Session, name: string): Promise<void> {
  const running = await findRunningTurn(api, session);
  if (running === undefined || running.state === "ended" || running.state === "interrupted") return;
  const time = formatDuration(Date.now() - running.turn.startedAt);
  throw new Fault("session-busy", `session "${name}" is busy: ${running.turn.agent} has been ${running.state} for ${time}`, {
    hint: "wait_session returns its answer, cancel_session stops it; for other work use another session_id",
  });
}
