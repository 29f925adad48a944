// Follows a turn until it ends, the time limit is over, or the caller cancels or disconnects. Only cancelling the call that
// started a turn stops the turn.
import { formatDuration } from "../../kit/text/duration.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Api } from "../../protocol/api/api.ts";
import type { Ask, TurnInfo } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { mainArgument, textOf, type Node } from "../../protocol/tree/node.ts";
import { sessionIdentifier, type Session, type Turn } from "../../protocol/tree/turn.ts";
import { createAskForwarder } from "./forward-asks.ts";
import { activityOf, openCallsAfter, type OpenCalls } from "./open-calls.ts";
import type { Caller } from "../tools/tool.ts";

export type FollowState = {
  session: Session;
  /** The latest turn; null if the session has none. */
  turn: Turn | null;
  seq: number;
  /** The answer of a turn that has ended, else its text so far. */
  answer: string;
  /** Questions without an answer. */
  asks: Ask[];
  warnings: string[];
  /** Calls of the turn without a result. */
  calls: OpenCalls;
  /** The last activity, for progress notifications. */
  activity: string;
};

/** `over`: no turn is running. `asking`: the call must end with a question. `left`: the caller has disconnected or cancelled. */
export type FollowResult = FollowState & { how: "over" | "running" | "asking" | "left" };

export type FollowOptions = {
  api: Api;
  caller: Caller;
  session: Session;
  events: AsyncIterable<Event>;
  /** The state before the first event. */
  from?: Pick<FollowState, "turn" | "seq" | "asks" | "calls">;
  /** Null is no limit. */
  limitMs: number | null;
  onCancel: "stop" | "leave";
};

/** Progress is sent every second if it changed, else every 5 s. Clients that reset their timeout on progress then keep waiting. */
const progressInterval = { changedMs: 1_000, unchangedMs: 5_000 };

export async function followTurn({ api, caller, session, events, from, limitMs, onCancel }: FollowOptions): Promise<FollowResult> {
  const activity = from === undefined ? "starting" : activityOf(from.calls);
  const state: FollowState = { session, turn: null, seq: 0, asks: [], calls: new Map(), ...from, answer: "", warnings: [], activity };
  const iterator = events[Symbol.asyncIterator]();
  const finish = (how: FollowResult["how"]): FollowResult => {
    void iterator.return?.();
    return { ...state, how };
  };
  const stopProgress = sendProgress(caller, state);
  const timeout = limitMs === null ? null : AbortSignal.timeout(limitMs);
  const forwarder = createAskForwarder(api, caller);
  const cancelled = whenAborted(caller.signal, "cancelled" as const);
  const timedOut = whenAborted(timeout, "timeout" as const);
  let isStopping = false;
  try {
    for (const ask of state.asks) if (await forwarder.onOpened(ask)) return finish("asking");
    for (let next = iterator.next(); ;) {
      const result = await Promise.race([next, isStopping ? never : cancelled, timedOut]);
      if (result === "timeout") return finish("running");
      if (result === "cancelled") {
        if (caller.isDisconnected() || onCancel === "leave") return finish("left");
        isStopping = true;
        await api.turn.cancel({ session: session.id });
        continue;
      }
      if (result.done === true) return finish("over");
      Object.assign(state, changesBy(result.value, state), { seq: Math.max(state.seq, result.value.seq) });
      if (result.value.type === "ask.closed") forwarder.onClosed(result.value.ask);
      if (result.value.type === "ask.opened" && (await forwarder.onOpened(result.value.ask))) return finish("asking");
      next = iterator.next();
    }
  } catch (error) {
    throw error instanceof Fault && error.code === "connection-lost" ? hubLost(error, session) : error;
  } finally {
    stopProgress();
    forwarder.close();
  }
}

const never = new Promise<never>(() => {});

function whenAborted<Value extends string>(signal: AbortSignal | null, value: Value): Promise<Value> {
  if (signal === null) return never;
  if (signal.aborted) return Promise.resolve(value);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(value), { once: true }));
}

function changesBy(event: Event, state: FollowState): Partial<FollowState> {
  switch (event.type) {
    case "turn.started":
      return { turn: event.turn, session: event.session, answer: "", asks: [], warnings: [], calls: new Map(), activity: "starting" };
    case "node.added":
      return changesByNode(event.node, state);
    case "turn.ended":
      return { turn: event.turn, session: event.session, answer: event.answer ?? state.answer, activity: "done" };
    case "ask.opened": {
      const asks = [...state.asks.filter(({ id }) => id !== event.ask.id), event.ask];
      return { asks, activity: `asks: ${oneLine(event.ask.question, 80)}` };
    }
    case "ask.closed":
      return { asks: state.asks.filter(({ id }) => id !== event.ask.id) };
    case "warning.raised":
      return { warnings: [...state.warnings, event.message] };
    case "tool.started":
      return { activity: oneLine(`${event.name} ${mainArgument(event.input)}`, 80) };
    case "draft.shown":
      return event.key === "text" ? { activity: "answering" } : event.key === "thinking" ? { activity: "thinking" } : {};
    case "text.delta":
      return { activity: "answering" };
    case "thinking.delta":
      return { activity: "thinking" };
    default:
      return {};
  }
}

function changesByNode(node: Node, state: FollowState): Partial<FollowState> {
  if (node.note?.about === "hand-over") return { warnings: [...state.warnings, oneLine(textOf(node), 300)] };
  if (node.note?.about === "team") return { activity: oneLine(textOf(node), 80) };
  if (node.note?.about === "group") return { activity: `${node.note.said.phase} ${node.note.said.round}` };
  const calls = openCallsAfter(state.calls, node);
  const answer = node.author === "agent" ? textOf(node) || state.answer : state.answer;
  return { answer, calls, activity: activityOf(calls) };
}

function sendProgress(caller: Caller, state: FollowState): () => void {
  const startedAt = Date.now();
  let last = { activity: "", sentAt: 0 };
  const timer = setInterval(() => {
    const now = Date.now();
    if (state.activity === last.activity && now - last.sentAt < progressInterval.unchangedMs) return;
    last = { activity: state.activity, sentAt: now };
    caller.progress?.(`${state.turn?.agent ?? state.session.agent}, ${formatDuration(now - startedAt)}: ${state.activity}`);
  }, progressInterval.changedMs);
  return () => clearInterval(timer);
}

function hubLost(error: Fault, session: Session): Fault {
  return new Fault("connection-lost", "the connection to the hub that runs this session was lost", {
    hint: `wait_session with session_id "${sessionIdentifier(session)}" returns the result of the work`,
    cause: error,
  });
}

/** The running or interrupted turn of a session; undefined if its last turn has ended. */
export async function findRunningTurn(api: Api, { id }: Session): Promise<TurnInfo | undefined> {
  return (await api.turn.list({ endedSince: null })).find(({ session }) => session.id === id);
}
