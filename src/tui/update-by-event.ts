// What a turn tells, on the screen. Events of sessions other than the one shown only matter where they ask something.
import { emptyLine } from "../kit/line-edit.ts";
import { oneLine } from "../kit/text.ts";
import type { Ask } from "../protocol/control.ts";
import type { Event } from "../protocol/event.ts";
import type { Enforced } from "../protocol/policy.ts";
import type { Turn } from "../protocol/turn.ts";
import { addSpent, addUsage, nothingSpent, noUsage } from "../protocol/usage.ts";
import { turnBlocks, type Block } from "./blocks.ts";
import { step, type State, type Step } from "./state.ts";
import { blockCount, withBelow, withBlocks, withDelta, withNode, withOutput, withStart, withoutWriting } from "./transcript.ts";

export function updateByEvent(state: State, event: Event): Step {
  const isBelow = event.sessionId !== state.session?.id;
  const known = isBelow ? withBelow(state.transcript, event) : state.transcript;
  const told = known === state.transcript ? state : { ...state, transcript: known };
  if (event.type === "ask.opened" || event.type === "ask.closed") return step(withAsk(told, event));
  if (isBelow) return step(told);
  if (event.type === "session.spawned") {
    const { session: id, agent, task } = event;
    const block: Block = { id, kind: "session", agent, task, state: "running", spent: nothingSpent, doing: "" };
    const transcript = withBlocks(state.transcript, block);
    return step({ ...state, transcript, activity: "sub-session" }, { type: "watch", session: id });
  }
  return step(shown(state, event), ...(mayHaveTicked(state, event) ? [{ type: "read plan" } as const] : []));
}

/** Whatever a tool did, it may have been to the plan. */
function mayHaveTicked({ session }: State, event: Event): boolean {
  return session?.plan !== undefined && (event.type === "turn.ended" || (event.type === "node.added" && event.node.author === "tool"));
}

function shown(state: State, event: Exclude<Event, { type: "ask.opened" | "ask.closed" | "session.spawned" }>): State {
  const { transcript } = state;
  switch (event.type) {
    case "turn.started":
      return { ...state, session: event.session, activity: "waiting", usage: noUsage, held: heldIn(event.turn) ?? state.held };
    case "node.added": {
      const usage = event.node.usage === undefined ? state.usage : addUsage(state.usage, event.node.usage);
      return { ...state, transcript: withNode(transcript, event.node), usage };
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
    case "tool.denied":
      return { ...state, notice: { text: oneLine(event.text, 300), isError: true } };
    case "model.retried":
      return {
        ...state,
        transcript: withoutWriting(transcript),
        activity: "retrying",
        notice: { text: oneLine(event.error.message, 300), isError: true },
      };
    case "warning.raised":
      return {
        ...state,
        transcript: withBlocks(transcript, { id: `warning-${blockCount(transcript)}`, kind: "note", text: event.message }),
      };
    case "turn.paused":
      return { ...state, activity: "paused" };
    case "turn.resumed":
      return { ...state, activity: "waiting" };
    case "draft.shown":
      return event.key === "text" || event.key === "thinking"
        ? { ...state, transcript: withDelta(transcript, event.key, event.text) }
        : state;
    case "queue.changed":
      return { ...state, queue: event.queue };
    case "turn.ended":
      return {
        ...state,
        session: event.session,
        transcript: withBlocks(withoutWriting(transcript), ...turnBlocks(event.turn)),
        activity: null,
        notice: state.notice?.isError === true ? state.notice : null,
        usage: event.turn.usage,
        total: addSpent(addSpent(state.total, event.turn), event.below ?? { usage: noUsage, costUsd: 0 }),
        sandbox: event.turn.enforced === null ? state.sandbox : walls(event.turn.enforced),
      };
  }
}

function withAsk(state: State, { type, ask }: { type: string; ask: Ask }): State {
  const others = state.asks.filter((other) => other.id !== ask.id);
  if (type === "ask.opened") return { ...state, asks: [...others, ask], answer: state.asks.length === 0 ? emptyLine : state.answer };
  const isCurrent = state.asks[0]?.id === ask.id;
  return { ...state, asks: others, answer: isCurrent ? emptyLine : state.answer };
}

function heldIn({ policy, enforced }: Turn): State["held"] {
  return enforced === null ? null : { asked: policy.net, net: enforced.net };
}

/** What the kernel really held in that turn. */
function walls({ tier, missing }: Enforced): State["sandbox"] {
  return tier === "none" ? "off" : missing.length > 0 ? "partly" : "on";
}
