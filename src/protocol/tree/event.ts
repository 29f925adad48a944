// The one stream that comes back up from a turn. Lasting events are stored before anyone sees them;
// passing ones only carry an increment and may be lost by a slow reader.
import type { Ask, QueuedInput } from "../api/control.ts";
import type { TurnError } from "../api/error.ts";
import type { Node } from "./node.ts";
import type { Denial } from "../api/policy.ts";
import type { RemainingBudget } from "../api/ports.ts";
import type { Session, Turn } from "./turn.ts";
import type { Spent } from "./usage.ts";

export type DurableEventBody =
  | { type: "turn.started"; turn: Turn; session: Session }
  | { type: "node.added"; node: Node }
  | { type: "ask.opened"; ask: Ask }
  | { type: "ask.closed"; ask: Ask }
  /** All that waits to be given to the agent, after something came or was taken. */
  | { type: "queue.changed"; queue: QueuedInput[] }
  | ({ type: "turn.ended"; turn: Turn; session: Session } & Partial<TurnOutcome>);

/** What only the live event of an ended turn carries: its whole answer, what its sub-sessions used, what is left of the budget. */
export type TurnOutcome = { answer: string; below: Spent; left: RemainingBudget };

export type TransientEventBody =
  | { type: "text.delta"; text: string }
  | { type: "thinking.delta"; text: string }
  | { type: "call.started"; call: string; name: string }
  | { type: "tool.started"; call: string; name: string; input: Record<string, unknown> }
  | { type: "tool.output"; call: string; text: string }
  | { type: "tool.denied"; call: string; what: Denial["what"]; text: string }
  | { type: "model.retried"; attempt: number; waitMs: number; error: TurnError }
  | { type: "warning.raised"; message: string }
  | { type: "turn.paused" }
  | { type: "turn.resumed" }
  /** A sub-session begins below a call; it can be watched by its own id. */
  | { type: "session.spawned"; call: string; session: string; agent: string; task: string }
  /** What is streaming so far, told once to a watcher that comes late. The key is "text", "thinking" or a call. */
  | { type: "draft.shown"; key: string; text: string };

/** `seq` counts the lasting events of a session; a passing one has the last seq and its own count `n`. */
export type DurableEvent = { seq: number; sessionId: string; turnId: string; at: number } & DurableEventBody;
export type TransientEvent = { seq: number; n: number; sessionId: string; turnId: string; at: number } & TransientEventBody;
export type Event = DurableEvent | TransientEvent;
