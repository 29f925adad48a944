// The Api methods that act on turns: start, watch, steer, pause, resume, stop, ask and answer.
import type { Api } from "../protocol/api/api.ts";
import { protocolVersion } from "../protocol/api/control.ts";
import { bareTurn } from "../protocol/api/turn-options.ts";
import { answerAsk, listAsks } from "./control/asks.ts";
import type { EngineDeps } from "./engine.ts";
import type { TurnStarter } from "./turn/start-turns.ts";
import { callOwner } from "./control/owner.ts";
import { pauseTurn, resumeTurn } from "./control/pause.ts";
import { steer, takeBack } from "./control/steer.ts";
import { checkTurn } from "./turn/run-turn.ts";
import { watchSession } from "./control/watch.ts";

export function createControlMethods(deps: EngineDeps, turns: TurnStarter): Pick<Api, "turn" | "ask" | "bash" | "health"> {
  return {
    turn: {
      check: (params) => checkTurn(deps, params),
      start: turns.start,
      cancel: ({ session }) => cancelTurn(deps, session),
      kill: async ({ session, force }) => (await import("./control/kill.ts")).killTurn(deps, session, { force }),
      watch: (params) => watchSession(deps, params),
      steer: (params) => steer(deps, params),
      takeBack: (params) => takeBack(deps, params),
      pause: ({ session, force }) => pauseTurn(deps, session, { force }),
      resume: ({ session }) => resumeTurn(deps, session),
      list: async ({ endedSince }) => (deps.hasStore() ? (await deps.store()).listTurns(endedSince) : []),
    },
    ask: { list: (params) => listAsks(deps, params), answer: (params) => answerAsk(deps, params) },
    bash: {
      execute: ({ session, command, timeoutMs, policy }) => turns.start({ ...bareTurn(session, policy), command, timeoutMs }),
    },
    health: {
      check: async () => ({
        status: "healthy",
        version: deps.version,
        protocol: protocolVersion,
        pid: process.pid,
        startedAt: deps.startedAt,
        running: deps.running.size,
      }),
    },
  };
}

async function cancelTurn(deps: EngineDeps, session: string): Promise<void> {
  if (deps.running.stop(session)) return;
  await callOwner(deps, session, { local: () => {}, remote: (api) => api.turn.cancel({ session }), idle: () => {}, mayRepeat: true });
}
