// The stream of events of a turn. Durable events are stored before they are shown. Transient events carry only an
// increment, and a slow reader may miss some.
import type { DurableEvent, TransientEvent } from "../schema/events.ts";

export type { DurableEvent, TransientEvent };
export type Event = DurableEvent | TransientEvent;

type Position = "seq" | "n" | "sessionId" | "turnId" | "at";
type WithoutPosition<Any> = Any extends unknown ? Omit<Any, Position> : never;

/** An event without its position in the session. */
export type DurableEventBody = WithoutPosition<DurableEvent>;
export type TransientEventBody = WithoutPosition<TransientEvent>;

/** Fields that only the live event of an ended turn has: its answer, the usage of its sub-sessions, the budget left. */
export type TurnOutcome = Required<Pick<Extract<DurableEvent, { type: "turn.ended" }>, "answer" | "below" | "left">>;
