// The turns that run in this process: started, stopped from the moment they are asked for, and waited for at the end.
import { createFeed } from "../kit/feed.ts";
import type { Api } from "../protocol/api.ts";
import type { Event } from "../protocol/event.ts";
import { nothingSpent } from "../protocol/usage.ts";
import type { EngineParts } from "./engine.ts";
import { runToRest, type Told } from "./turn.ts";

export type LiveTurns = {
  start: Api["turn"]["start"];
  stop: (session: string) => void;
  /** A door that fails leaves its turn running: it is stopped and recorded as what it is. */
  stopAll: () => Promise<void>;
  finishAll: () => Promise<void>;
};

export function liveTurns(parts: EngineParts): LiveTurns {
  const told: Told = new Set();
  const starting = new Map<string, AbortController>();
  const unfinished = new Set<Promise<unknown>>();
  return {
    start(params) {
      const feed = createFeed<Event>();
      const stop = new AbortController();
      starting.set(params.session, stop);
      const place = { outer: stop.signal, elsewhere: () => nothingSpent, root: null, gate: null, told };
      const done = runToRest(parts, params, (event) => feed.push(event), place)
        .finally(() => starting.get(params.session) === stop && starting.delete(params.session))
        .then(
          () => feed.end(),
          (error: unknown) => feed.fail(error),
        )
        .finally(() => unfinished.delete(done));
      unfinished.add(done);
      return feed;
    },
    stop(session) {
      starting.get(session)?.abort();
      parts.live.of(session)?.deadline.cancel();
    },
    async stopAll() {
      for (const stop of starting.values()) stop.abort();
      await Promise.all(unfinished);
    },
    async finishAll() {
      while (unfinished.size > 0) await Promise.all(unfinished);
    },
  };
}
