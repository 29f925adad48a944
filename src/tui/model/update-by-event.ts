// Updates the state by the events of the visible session and of its sub-sessions. Pure.
import { retryText } from "../../protocol/limits/clock-time.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import { totalInput } from "../../protocol/tree/usage-text.ts";
import { addSpent, addUsage, zeroUsage, withSubSessions } from "../../protocol/tree/usage.ts";
import { hintFor } from "../keys/hint.ts";
import { withAsk, withAsks, withoutAsk } from "./asks.ts";
import { speakerOf, turnBlocks } from "./blocks.ts";
import { step, withNotice, type State, type UpdateResult } from "./state.ts";
import {
  blockCount,
  withSubSessionEvent,
  withBlocks,
  withDelta,
  withDraft,
  withNode,
  withOutput,
  withSpawned,
  withSpeaker,
  withStart,
  withoutWriting,
} from "./transcript.ts";

export function updateByEvent(state: State, event: Event): UpdateResult {
  if (event.sessionId !== state.session?.id) return step(state);
  if (event.type === "ask.opened" || event.type === "ask.closed") return step(withAskEvent(state, event));
  if (event.type === "session.spawned")
    return step({ ...state, transcript: withSpawned(state.transcript, event), activity: "sub-session" });
  const reload = needsReload(state, event) ? [{ type: "reload" } as const] : [];
  return step(
    withoutRetry(state, applyEvent(state, event)),
    ...reload,
    ...(mayChangePlan(state, event) ? [{ type: "read plan" } as const] : []),
    ...(hasPlanned(state, event) ? [{ type: "read finished plan" } as const] : []),
  );
}

/** Removes the notice about a retry as soon as the retry has begun. */
function withoutRetry(previous: State, next: State): State {
  const isOver = previous.activity === "retrying" && next.activity !== "retrying" && next.notice === previous.notice;
  return isOver ? { ...next, notice: null } : next;
}

/** Any tool may have changed the plan file. */
function mayChangePlan({ session }: State, event: Event): boolean {
  return session?.plan !== undefined && (event.type === "turn.ended" || (event.type === "node.added" && event.node.author === "tool"));
}

function hasPlanned({ isPlanning }: State, event: Event): boolean {
  return isPlanning && event.type === "turn.ended" && event.turn.status === "ok" && event.turn.agent !== "shell";
}

export function updateBySubSession(state: State, event: Event): UpdateResult {
  const transcript = withSubSessionEvent(state.transcript, event);
  const next = transcript === state.transcript ? state : { ...state, transcript };
  return step(event.type === "ask.opened" || event.type === "ask.closed" ? withAskEvent(next, event) : next);
}

/** True if another process moved the session. */
function needsReload({ session }: State, event: Event): boolean {
  return event.type === "turn.started" && event.turn.parent !== (session?.tip ?? null);
}

function applyEvent(state: State, event: Exclude<Event, { type: "ask.opened" | "ask.closed" | "session.spawned" }>): State {
  const { transcript } = state;
  switch (event.type) {
    case "turn.started":
      return {
        ...state,
        ...enforcedPolicy(state, event.turn),
        session: event.session,
        transcript: event.turn.agent === "shell" ? transcript : withSpeaker(transcript, speakerOf(event.turn)),
        activity: "waiting",
        isInterrupted: false,
        later: laterAfter(state.later, event.turnId),
        usage: zeroUsage,
      };
    case "node.added": {
      const usage = event.node.usage === undefined ? state.usage : addUsage(state.usage, event.node.usage);
      const session = state.session === null ? null : { ...state.session, tip: event.node.id };
      const activity = event.node.author === "agent" && state.activity !== null ? "waiting" : state.activity;
      const contextTokens = contextTokensOf([event.node]) ?? state.contextTokens;
      return { ...state, session, transcript: withNode(transcript, event.node), usage, activity, contextTokens };
    }
    case "text.delta":
      return { ...state, transcript: withDelta(transcript, "text", event.text), activity: "writing" };
    case "thinking.delta":
      return { ...state, transcript: withDelta(transcript, "thinking", event.text), activity: "thinking" };
    case "call.started":
      return { ...state, activity: oneLine(event.name, 20) };
    case "tool.started":
      return { ...state, transcript: withStart(transcript, event), activity: oneLine(event.name, 20) };
    case "tool.output":
      return { ...state, transcript: withOutput(transcript, event.call, event.text) };
    case "tool.exited":
      return state;
    case "snapshot.started":
    case "snapshot.ended":
      return { ...state, isRecordingFiles: event.type === "snapshot.started" };
    case "tool.denied":
      return withNotice(state, deniedText(state, event), "error");
    case "model.retried":
      return withNotice(
        { ...state, transcript: withoutWriting(transcript), activity: "retrying" },
        `attempt ${event.attempt + 1}, ${retryText(event)}: ${oneLine(event.error.message, 300)}`,
        "error",
      );
    case "warning.raised": {
      const last = transcript.settled.at(-1);
      // A warning that is stored as a node was shown with it.
      if (last?.kind === "note" && last.text === event.message) return state;
      return {
        ...state,
        transcript: withBlocks(transcript, { id: `warning-${blockCount(transcript)}`, kind: "note", text: event.message }),
      };
    }
    case "turn.paused":
      return { ...state, activity: "paused" };
    case "turn.resumed":
      return { ...state, activity: "waiting" };
    case "draft.shown":
      return { ...state, transcript: withDraft(transcript, event.key, event.text) };
    case "queue.changed":
      return { ...state, queue: event.queue };
    case "turn.ended": {
      const asksOfSession = state.asks.filter((ask) => ask.session === event.sessionId);
      return {
        ...withAsks(state, asksOfSession),
        session: event.session,
        transcript: withBlocks(withoutWriting(transcript), ...turnBlocks(event.turn)),
        activity: null,
        clock: null,
        isRecordingFiles: false,
        runner: null,
        later: event.next === undefined ? state.later : [event.next, ...state.later.filter(({ id }) => id !== event.next?.id)],
        notice: state.notice?.isError === true ? state.notice : null,
        usage: event.turn.usage,
        total: addSpent(state.total, withSubSessions(event.turn)),
        sandbox: enforcedPolicy(state, event.turn).sandbox,
      };
    }
  }
}

/** A started turn takes the place of one that waits to continue. Another queued turn keeps its place in the list. */
function laterAfter(later: State["later"], started: string | null): State["later"] {
  return later.length === 0 ? later : later.filter(({ id, kind }) => id !== started && kind === "queued");
}

function withAskEvent(state: State, { type, ask }: Extract<Event, { type: "ask.opened" | "ask.closed" }>): State {
  return type === "ask.opened" ? withAsk(state, ask) : withoutAsk(state, ask.id);
}

/** The result of the call has the whole reason. One row has room for the next step. */
function deniedText({ bindings, turnNet }: State, { what, text }: Extract<Event, { type: "tool.denied" }>): string {
  if (what !== "net" || turnNet?.net === "hosts") return oneLine(text, 300);
  return `the network of tools is off: ${hintFor(bindings, "net")} on turns it on for the next turn`;
}

/** The tokens of the latest request with a reported usage, and of its answer. Null without one. */
export function contextTokensOf(nodes: readonly Node[]): number | null {
  const usage = nodes.findLast((node) => node.author === "agent" && node.usage !== undefined)?.usage;
  return usage === undefined ? null : totalInput(usage) + usage.output;
}

/** Sandbox and network as the kernel enforced them in a turn. */
export function enforcedPolicy(state: State, { policy, enforced }: Turn): Pick<State, "sandbox" | "turnNet"> {
  if (enforced === null) return { sandbox: state.sandbox, turnNet: state.turnNet };
  const sandbox = enforced.tier === "none" ? "off" : enforced.missing.length > 0 ? "partly" : "on";
  return { sandbox, turnNet: { requested: policy.net, net: enforced.net } };
}
