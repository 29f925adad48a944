// Starts the turns of one engine and waits for them when the engine closes. A turn does not need a reader of its feed.
import { createFeed, type Feed } from "../../kit/flow/feed.ts";
import type { Api, TurnStartParams } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { EngineDeps } from "../engine.ts";
import { hasNoPrompt } from "./turn-prompt.ts";
import { runTurnAndQueue, type TurnScope } from "./run-turn.ts";

export type TurnStarter = {
  start: Api["turn"]["start"];
  startPending: Api["turn"]["startPending"];
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
  /** Calls `act` with the scope of a new turn. The feed ends with its promise. */
  const follow = (session: string, feed: Feed<Event>, act: (scope: TurnScope) => Promise<unknown>): void => {
    const announced = deps.running.announce(session);
    const done = act({ parentSignal: announced.signal, parentAccount: null, root: null, gate: null, shownWarnings })
      .finally(announced.done)
      .then(
        () => feed.end(),
        (error: unknown) => feed.fail(error),
      )
      .finally(() => {
        unfinished.delete(done);
        onEnded();
      });
    unfinished.set(done, session);
  };
  const startPending = async (id: string, feed: Feed<Event>): Promise<void> => {
    const { pendingRequest, recordProblem } = await import("../pending/pending-turns.ts");
    const request = await pendingRequest(deps, id);
    let hasStarted = false;
    const publish = (event: Event): void => {
      hasStarted ||= event.type === "turn.started";
      feed.push(event);
    };
    follow(request.session, feed, (scope) =>
      (mayLoop(request) ? runLoop : runTurnAndQueue)(deps, request, publish, scope).catch(async (error: unknown) => {
        if (!hasStarted) await recordProblem(deps, id, error);
        throw error;
      }),
    );
  };
  return {
    start(params) {
      const feed = createFeed<Event>();
      const push = (event: Event): void => feed.push(event);
      follow(params.session, feed, (scope) =>
        mayLoop(params) ? runLoop(deps, params, push, scope) : runTurnAndQueue(deps, params, push, scope),
      );
      return feed;
    },
    startPending({ pending }) {
      const feed = createFeed<Event>();
      startPending(pending, feed).catch((error: unknown) => feed.fail(error));
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
function mayLoop(params: TurnStartParams): boolean {
  return params.loop !== null || (params.prompt === null && !hasNoPrompt(params));
}
