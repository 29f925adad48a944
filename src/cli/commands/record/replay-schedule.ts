// The times at which a replay shows the events of a session. Pure.
import type { Event } from "../../../protocol/tree/event.ts";

export type ReplayPace = {
  /** 2 plays twice as fast. */
  speed: number;
  /** A longer pause is cut to this, before `speed`. Null cuts none. */
  maxPauseMs: number | null;
};

/** `afterMs` is the time since the first event, at the replay's pace. */
export type ScheduledEvent = { event: Event; afterMs: number };

export function scheduleEvents(events: readonly Event[], { speed, maxPauseMs }: ReplayPace): ScheduledEvent[] {
  let afterMs = 0;
  let lastAt = events[0]?.at ?? 0;
  return events.map((event) => {
    // A clock that was set back makes no negative pause.
    const pause = Math.max(0, event.at - lastAt);
    lastAt = Math.max(lastAt, event.at);
    afterMs += (maxPauseMs === null ? pause : Math.min(pause, maxPauseMs)) / speed;
    return { event, afterMs };
  });
}
