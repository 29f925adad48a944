// The turns that one engine has started: from the moment they are asked for, and waited for at the end.
import { createFeed } from "../../kit/flow/feed.ts";
import type { Api } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { EngineDeps } from "../engine.ts";
import { applyRole } from "./roles.ts";
import { runTurnAndQueue, type ShownWarnings } from "./run-turn.ts";

export type TurnStarter = {
  start: Api["turn"]["start"];
  /** A door that fails leaves its turn running: it is stopped and recorded as what it is. */
  stopAll: () => Promise<void>;
  finishAll: () => Promise<void>;
};

export function createTurnStarter(deps: EngineDeps): TurnStarter {
  const told: ShownWarnings = new Set();
  const unfinished = new Map<Promise<unknown>, string>();
  return {
    start(params) {
      const feed = createFeed<Event>();
      const { signal, done: begun } = deps.running.announce(params.session);
      const place = { parentSignal: signal, parentAccount: null, root: null, gate: null, shownWarnings: told };
      const done = applyRole(deps, params)
        .then((wish) => runTurnAndQueue(deps, wish, (event) => feed.push(event), place))
        .finally(begun)
        .then(
          () => feed.end(),
          (error: unknown) => feed.fail(error),
        )
        .finally(() => unfinished.delete(done));
      unfinished.set(done, params.session);
      return feed;
    },
    async stopAll() {
      for (const session of unfinished.values()) deps.running.stop(session);
      await Promise.all(unfinished.keys());
    },
    async finishAll() {
      while (unfinished.size > 0) await Promise.all(unfinished.keys());
    },
  };
}
