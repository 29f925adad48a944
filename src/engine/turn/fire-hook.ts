// Selects the events of a turn that the user's hooks are for. The process that owns a turn publishes its events, so each
// hook runs once.
import type { Event } from "../../protocol/tree/event.ts";
import type { HookEvent } from "../../protocol/hooks/hook-event.ts";
import type { Session } from "../../protocol/tree/turn.ts";

type HookSource = {
  session: Session;
  /** The end of a sub-session is no news for the user. Its questions are. */
  isSubSession: boolean;
};

export function fireHook(runHook: (event: HookEvent) => void, event: Event, { session, isSubSession }: HookSource): void {
  if (event.type === "ask.opened") runHook({ type: "ask_opened", session, turnId: event.turnId, ask: event.ask });
  if (event.type !== "turn.ended" || isSubSession) return;
  runHook({ type: "turn_ended", session: event.session, turn: event.turn, answer: event.answer ?? "" });
}
