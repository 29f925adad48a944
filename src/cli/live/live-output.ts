// Shows on a terminal what a turn and its sub-sessions do, below the printed output. Does nothing without a terminal.
import type { Event } from "../../protocol/tree/event.ts";
import type { CommandContext } from "../parse/command.ts";
import { showsUnicode, styleOf } from "../terminal/style.ts";
import { Activity } from "./activity.ts";
import { liveRows, type SubSession } from "./live-rows.ts";
import { watchSubSession, type WatchEvents } from "./watch-sub-session.ts";

export type LiveOutput = { event: (event: Event) => void; close: () => void };

/** Sub-sessions are shown only with `watch`. */
export function startLiveOutput({ out, err, env }: Pick<CommandContext, "out" | "err" | "env">, watch: WatchEvents | null): LiveOutput {
  const region = err.live ?? out.live ?? null;
  if (region === null) return { event: () => {}, close: () => {} };
  const main = new Activity();
  const subSessions = new Map<string, SubSession>();
  const rowStyle = { style: styleOf(err.live === undefined ? out : err), isUnicode: showsUnicode(env) };
  let isClosed = false;
  const stop = region.start((size) => liveRows({ main, subSessions: subSessions.values() }, Date.now(), size, rowStyle));

  function follow({ call, session: id, agent, task, at }: Extract<Event, { type: "session.spawned" }>): void {
    if (watch === null || subSessions.has(id)) return;
    const activity = new Activity();
    subSessions.set(id, { id, call, agent, task, since: at, activity });
    const onEvent = (event: Event): void => {
      activity.apply(event);
      if (event.type === "session.spawned") follow(event);
    };
    watchSubSession(watch, { session: id, onEvent, isClosed: () => isClosed })
      // The rows are only a help: without them the turn continues, and its own output is complete.
      .catch(() => {})
      .finally(() => subSessions.delete(id));
  }
  return {
    event(event) {
      main.apply(event);
      if (event.type === "session.spawned") follow(event);
    },
    close() {
      isClosed = true;
      stop();
    },
  };
}
