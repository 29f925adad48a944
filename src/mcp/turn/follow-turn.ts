// A turn as its caller waits for it: followed to its end, to the end of the caller's patience, or until the caller
// cancels or is gone. Only cancelling the call that started a turn stops it.
import { formatDuration } from "../../kit/text/duration.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { textOf } from "../../protocol/tree/node.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { createAskForwarder } from "./forward-asks.ts";
import { sessionIdentifier } from "./session-identifier.ts";
import type { Caller } from "../tools/tool.ts";

export type FollowState = {
  session: Session;
  /** The latest; null when the session has had none. */
  turn: Turn | null;
  seq: number;
  /** The whole answer of a turn that has ended; what there is of one that has not. */
  answer: string;
  /** Those without an answer yet. */
  asks: Ask[];
  warnings: string[];
  /** What it did last, for whoever waits. */
  doing: string;
};

/** `over`: nothing runs any more. `asking`: the caller is to be asked before it can go on. `gone`: nobody waits. */
export type FollowResult = FollowState & { how: "over" | "running" | "asking" | "gone" };

export type FollowOptions = {
  api: Api;
  caller: Caller;
  session: Session;
  events: AsyncIterable<Event>;
  /** What is known of it already. */
  from?: Pick<FollowState, "turn" | "seq" | "asks">;
  /** Null is as long as it takes. */
  limitMs: number | null;
  onCancel: "stop" | "leave";
};

/** What is new is told at once, what is not often enough for a client that resets its clock by it. */
const heartbeat = { newsMs: 1_000, stillMs: 5_000 };

export async function followTurn({ api, caller, session, events, from, limitMs, onCancel }: FollowOptions): Promise<FollowResult> {
  const seen: FollowState = { session, turn: null, seq: 0, asks: [], ...from, answer: "", warnings: [], doing: "starting" };
  const iterator = events[Symbol.asyncIterator]();
  const leave = (how: FollowResult["how"]): FollowResult => {
    void iterator.return?.();
    return { ...seen, how };
  };
  const stopTelling = tellProgress(caller, seen);
  const patience = limitMs === null ? null : AbortSignal.timeout(limitMs);
  const asking = createAskForwarder(api, caller);
  const cancelled = heard(caller.signal, "caller" as const);
  const impatient = heard(patience, "patience" as const);
  let isStopping = false;
  try {
    for (const ask of seen.asks) if ((await asking.opened(ask)) === "between") return leave("asking");
    for (let next = iterator.next(); ;) {
      const came = await Promise.race([next, isStopping ? never : cancelled, impatient]);
      if (came === "patience") return leave("running");
      if (came === "caller") {
        if (caller.isDisconnected() || onCancel === "leave") return leave("gone");
        isStopping = true;
        await api.turn.cancel({ session: session.id });
        continue;
      }
      if (came.done === true) return leave("over");
      applyEvent(seen, came.value);
      if (came.value.type === "ask.closed") asking.closed(came.value.ask);
      if (came.value.type === "ask.opened" && (await asking.opened(came.value.ask)) === "between") return leave("asking");
      next = iterator.next();
    }
  } catch (error) {
    throw error instanceof Fault && error.code === "connection-lost" ? lost(error, session) : error;
  } finally {
    stopTelling();
    asking.leave();
  }
}

const never = new Promise<never>(() => {});

function heard<Word extends string>(signal: AbortSignal | null, word: Word): Promise<Word> {
  if (signal === null) return never;
  if (signal.aborted) return Promise.resolve(word);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(word), { once: true }));
}

function applyEvent(state: FollowState, event: Event): void {
  state.seq = Math.max(state.seq, event.seq);
  switch (event.type) {
    case "turn.started":
      Object.assign(state, { turn: event.turn, session: event.session, answer: "", asks: [], warnings: [], doing: "starting" });
      break;
    case "node.added":
      if (event.node.author === "agent") state.answer = textOf(event.node) || state.answer;
      if (event.node.note?.about === "team") state.doing = oneLine(textOf(event.node), 80);
      if (event.node.note?.about === "group") state.doing = `${event.node.note.said.phase} ${event.node.note.said.round}`;
      break;
    case "turn.ended":
      Object.assign(state, { turn: event.turn, session: event.session, answer: event.answer ?? state.answer, doing: "done" });
      break;
    case "ask.opened":
      state.asks = [...state.asks.filter(({ id }) => id !== event.ask.id), event.ask];
      state.doing = `asks: ${oneLine(event.ask.question, 80)}`;
      break;
    case "ask.closed":
      state.asks = state.asks.filter(({ id }) => id !== event.ask.id);
      break;
    case "warning.raised":
      state.warnings.push(event.message);
      break;
    case "tool.started":
      state.doing = oneLine(`${event.name} ${Object.values(event.input).join(" ")}`, 80);
      break;
    case "text.delta":
      state.doing = "answering";
      break;
    case "thinking.delta":
      state.doing = "thinking";
      break;
  }
}

function tellProgress(caller: Caller, state: FollowState): () => void {
  const startedAt = Date.now();
  let told = { doing: "", at: 0 };
  const timer = setInterval(() => {
    const now = Date.now();
    if (state.doing === told.doing && now - told.at < heartbeat.stillMs) return;
    told = { doing: state.doing, at: now };
    caller.progress?.(progressText(state, now - startedAt));
  }, heartbeat.newsMs);
  return () => clearInterval(timer);
}

function lost(error: Fault, session: Session): Fault {
  return new Fault("connection-lost", "the hub that runs this session was lost", {
    hint: `wait_session with session_id "${sessionIdentifier(session)}" tells what became of the work`,
    cause: error,
  });
}

function progressText({ session, turn, doing }: FollowState, ms: number): string {
  return `${turn?.agent ?? session.agent}, ${formatDuration(ms)}: ${doing}`;
}
