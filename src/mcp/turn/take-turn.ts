// Starts a turn for a caller in a named session, or collects its latest turn, and follows it until the caller's time
// limit. Checks a new turn before it writes anything. The turn runs in the hub.
import { oneLine } from "../../kit/text/cut-text.ts";
import { formatDuration } from "../../kit/text/duration.ts";
import type { Api, TurnCheckParams, TurnStartParams } from "../../protocol/api/api.ts";
import type { PendingTurn, TurnInfo } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import { configuredTurn } from "../../protocol/api/turn-options.ts";
import { waitingText } from "../../protocol/limits/clock-time.ts";
import { sessionIdentifier, type Session, type Turn } from "../../protocol/tree/turn.ts";
import { findRunningTurn, followTurn, type FollowOptions, type FollowResult } from "./follow-turn.ts";
import type { ToolAnswer, CallContext } from "../tools/tool.ts";
import { readOpenCalls } from "./open-calls.ts";
import { turnAnswer, type TurnOutput } from "./turn-answer.ts";

export type TakeTurnRequest = {
  sessionId: string;
  prompt: string;
  /** The name of an agent, or of a model that an agent can use. Default: native. */
  agent?: string;
  /** Default: the session's model. */
  model?: string;
  /** Overrides the configured options. */
  turn: Partial<Omit<TurnStartParams, "session" | "prompt" | "agent" | "model" | "asks">>;
  /** Queues the turn if the session is busy. */
  queue?: boolean | undefined;
  /** Opens the session if there is none of that name. Default: an empty one. */
  open?: () => Promise<Session>;
  /** Called once the session exists, before the turn starts. */
  prepare?: (session: Session) => Promise<void>;
};

export async function takeTurn(request: TakeTurnRequest, ctx: CallContext): Promise<ToolAnswer<TurnOutput>> {
  const { api, directory, caller } = ctx;
  const { agent = "native", model = null } = request;
  const settings = await api.config.values();
  const asks: TurnStartParams["asks"] = caller.elicitation === null ? { how: "later" } : { how: "wait", limitMs: settings.askTimeoutMs };
  const turn = { ...configuredTurn(settings), asks, agent, model, ...caller.trace, ...request.turn };
  const existing = await findSession(api, request.sessionId, directory);
  const busy = existing === null ? null : await findBusyTurn(api, existing);
  if (busy !== null && request.queue !== true) throw busyFault(busy, request.sessionId);
  await api.turn.check({ ...turn, isNew: existing === null, directory });
  if (busy !== null)
    return queuedAnswer(await api.turn.queue({ ...turn, ...later, session: busy.session.id, prompt: request.prompt }), busy.session);
  const session = existing ?? (await (request.open?.() ?? openSession(request, turn, ctx)));
  await request.prepare?.(session);
  const events = api.turn.start({ ...turn, session: session.id, prompt: turn.team === null && turn.race === null ? request.prompt : null });
  return answerOf(api, await followTurn({ api, caller, session, events, limitMs: caller.timeoutMs, onCancel: "stop" }));
}

/**
 * The answer of a call. An event has the turn with its usage at that moment, so a turn that still runs is read again. The turn
 * that continues one after a limit, or after its hub was stopped or killed, takes its place, also before it has started.
 */
async function answerOf(api: Api, followed: FollowResult): Promise<ToolAnswer<TurnOutput>> {
  const { turn } = followed;
  if (turn === null || turn.status === "ok") return turnAnswer(followed);
  const running = await findRunningTurn(api, followed.session);
  if (turn.endedAt === null) return turnAnswer(running?.turn.id === turn.id ? { ...followed, turn: running.turn } : followed);
  const pending = running?.pending;
  if (running === undefined || pending === undefined || pending.kind === "queued") return turnAnswer(followed);
  const activity = pending.problem ?? (pending.kind === "waiting" ? waitText(turn, pending.wakeAt) : "will continue in the next hub");
  return turnAnswer({ ...followed, turn: { ...running.turn, endedAt: null }, activity });
}

function waitText({ error }: Turn, wakeAt: number | null): string {
  const wait = wakeAt === null ? "waiting" : waitingText(wakeAt, Date.now());
  return error === null ? wait : `${wait}: ${oneLine(error.message, 200)}`;
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

type NewTurn = Pick<TurnCheckParams, "agent" | "model" | "toolLevel">;

function openSession({ sessionId, prompt }: TakeTurnRequest, { agent, model, toolLevel }: NewTurn, ctx: CallContext): Promise<Session> {
  return ctx.api.session.open({
    find: { by: "name", wanted: sessionId, orCreate: true },
    directory: ctx.directory,
    task: prompt,
    agent,
    model,
    toolLevel,
    parentSession: null,
    transcriptDir: null,
  });
}

/** Null if a turn can start in the session. */
async function findBusyTurn(api: Api, session: Session): Promise<TurnInfo | null> {
  const running = await findRunningTurn(api, session);
  return running === undefined || running.state === "ended" || running.state === "interrupted" ? null : running;
}

function busyFault({ turn, state }: TurnInfo, name: string): Fault {
  const time = formatDuration(Date.now() - turn.startedAt);
  return new Fault("session-busy", `session "${name}" is busy: ${turn.agent} has been ${state} for ${time}`, {
    hint: "wait_session returns its answer, cancel_session stops it, work_with with queue runs after it; for other work use another session_id",
  });
}

/** Nobody can be asked when a queued turn runs. */
const later = { asks: { how: "later" } } as const;

function queuedAnswer({ id, place }: PendingTurn, session: Session): ToolAnswer<TurnOutput> {
  const name = sessionIdentifier(session);
  const output = { status: "queued", session_id: name, turn_id: id, next: "wait_session" };
  return { output, text: `Number ${place} in the queue of session_id "${name}"; it runs after the current work. Call wait_session.` };
}

type CollectOptions = { afterSeq: number } & Pick<FollowOptions, "limitMs" | "onCancel">;

/**
 * Returns the answer of a session's latest turn, and waits for it while it runs. If the process of an open turn has
 * exited, the end of the turn is recorded first, and the turn that continues it is followed.
 */
export async function collectTurn(
  session: Session,
  { afterSeq, ...options }: CollectOptions,
  { api, caller }: CallContext,
): Promise<ToolAnswer<TurnOutput>> {
  const turn = (await findRunningTurn(api, session))?.turn ?? null;
  const asks = await api.ask.list({ session: session.id });
  const calls = await readOpenCalls(api, turn);
  const followFrom = (seq: number) => {
    const events = api.turn.watch({ session: session.id, afterSeq: seq, until: "idle" });
    return followTurn({ api, caller, session, events, from: { turn, seq, asks, calls }, ...options });
  };
  const followed = await followFrom(afterSeq);
  if (followed.how !== "over") return answerOf(api, followed);
  if (followed.turn !== null && followed.turn.endedAt === null)
    await api.turn.kill({ session: session.id, force: false, mayContinue: true });
  else if (followed.turn !== null && followed.answer !== "") return turnAnswer(followed);
  // The turn ended before `afterSeq`, or its process has exited. Its events are read from the start.
  return answerOf(api, await followFrom(0));
}
