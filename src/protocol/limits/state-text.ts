// The state of a turn for people: "running", "waiting until 14:05", "queued 2, turn 1a2b3c4d", or the status of an ended one.
import type { PendingTurn, TurnInfo } from "../api/control.ts";
import { waitingText } from "./clock-time.ts";
import { shortId } from "../tree/node.ts";

export function stateText({ state, turn, pending, retryAt }: TurnInfo, now: number): string {
  if (pending !== undefined) return pendingText(pending, now);
  if (retryAt !== undefined) return waitingText(retryAt, now);
  return state === "ended" ? (turn.status ?? "ended") : state;
}

/** A queued turn is withdrawn by its own id, a waiting one by its session. */
function pendingText({ id, kind, place, problem, wakeAt }: PendingTurn, now: number): string {
  if (problem !== null) return `blocked, turn ${shortId(id)}`;
  if (kind === "waiting") return wakeAt === null ? "waiting" : waitingText(wakeAt, now);
  return kind === "continued" ? "to be continued" : `queued ${place}, turn ${shortId(id)}`;
}
