// Starts the turns of one engine and waits for them when the engine closes. A turn does not need a reader of its feed.
import { createFeed } from "../../kit/flow/feed.ts";
import type { Api, TurnStartParams } from "../../protocol/api/api.ts";
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

type TurnStarterDeps = {
  /** Called after every turn. */
  onEnded: () => void;
  /** Runs a loop, or continues a turn that may be part of one. */
  runLoop: typeof runTurnAndQueue;
};

export function createTurnStarter(deps: EngineDeps, { onEnded, runLoop }: TurnStarterDeps): TurnStarter {
  const shownWarnings: TurnScope["shownWarnings"] = new Set();
  const unfinished = new Map<Promise<unknown>, string>();
  return {
    start(params) {
      const feed = createFeed<Event>();
      const announced = deps.running.announce(params.session);
      const scope: TurnScope = { parentSignal: announced.signal, parentAccount: null, root: null, gate: null, shownWarnings };
      const push = (event: Event): void => feed.push(event);
      const done = (mayLoop(params) ? runLoop(deps, params, push, scope) : runTurnAndQueue(deps, params, push, scope))
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

/** A turn without any task continues an interrupted one, which may be the pass of a loop. */
function mayLoop({ loop, prompt, command, group, team }: TurnStartParams): boolean {
  return loop !== null || (prompt === null && command === null && group === null && team === null);
}
