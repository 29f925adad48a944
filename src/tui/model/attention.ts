// Desktop notifications while the terminal has no focus (a long turn ended, an agent asks), and the window title.
import { formatDuration } from "../../kit/text/duration.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { State, UpdateResult } from "./state.ts";
import { plainLine } from "../layout/wrap.ts";

const longTurnMs = 10_000;

export function withAttention(next: UpdateResult, event: Event): UpdateResult {
  const text = next.state.hasFocus ? null : notificationText(next.state, event);
  return text === null ? next : { ...next, effects: [...next.effects, { type: "notify", text }] };
}

function notificationText(state: State, event: Event): string | null {
  if (event.type === "ask.opened") return `${labelOf(state)} asks: ${plainLine(event.ask.question, 120)}`;
  if (event.type !== "turn.ended" || event.sessionId !== state.session?.id) return null;
  const { startedAt, endedAt, status } = event.turn;
  const tookMs = (endedAt ?? startedAt) - startedAt;
  return tookMs < longTurnMs ? null : `${labelOf(state)}: ${status ?? "ended"} after ${formatDuration(tookMs)}`;
}

export function titleOf(state: State): string {
  const status = state.asks.length > 0 ? "asks" : state.activity === null ? "idle" : "working";
  return `skein · ${labelOf(state)} · ${status}`;
}

function labelOf({ session }: State): string {
  return session === null ? "new session" : plainLine(session.name ?? session.task ?? session.id.slice(-8), 40);
}
