// Starts the turns of one engine and waits for them when the engine closes. A turn does not need a reader of its feed.
import { createFeed } from "../../kit/flow/feed.ts";
import type { Api } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { EngineDeps } from "../engine.ts";
import { runTurnAndQueue, type TurnScope } from "./run-turn.ts";

export type TurnStarter = {
  start: Api["turn"]["start"];
  /** Stops every turn, and resolves when all are recorded as stopped. */
  stopAll: () => Promise<void>;
  /** Resolves when every turn has ended by itself. */
  finishAll: () => Promise<void>;
};

/** `onEnded` is called after every turn. */
export function createTurnStarter(deps: EngineDeps, onEnded: () => void): TurnStarter {
  const shownWarnings: TurnScope["shownWarnings"] = new Set();
  const unfinished = new Map<Promise<unknown>, string>();
  return {
    start(params) {
      const feed = createFeed<Event>();
      const announced = deps.running.announce(params.session);
      const scope: TurnScope = { parentSignal: announced.signal, parentAccount: null, root: null, gate: null, shownWarnings };
      const done = runTurnAndQueue(deps, params, (event) => feed.push(event), scope)
        .finally(announced.done)
        .then(
          () => feed.end(),
          (error: unknown) => feed.fail(error),
        )
        .finally(() => {
          unfinished.delete(done);
          onEnded();
        });
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
