// The rows of the Api that act on turns: start, watch, steer, stand still, stop, ask and answer.
import type { Api } from "../protocol/api/api.ts";
import { protocolVersion } from "../protocol/api/control.ts";
import { bareTurn } from "../protocol/api/turn-start.ts";
import { answerAsk, listAsks } from "./control/asks.ts";
import type { EngineDeps } from "./engine.ts";
import type { TurnStarter } from "./turn/start-turns.ts";
import { callOwner } from "./control/owner.ts";
import { pauseTurn, resumeTurn } from "./control/pause.ts";
import { steer, takeBack } from "./control/steer.ts";
import { checkTurn } from "./turn/run-turn.ts";
import { watchSession } from "./control/watch.ts";

export function createControlMethods(parts: EngineDeps, turns: TurnStarter): Pick<Api, "turn" | "ask" | "bash" | "health"> {
  return {
    turn: {
      check: (params) => checkTurn(parts, params),
      start: turns.start,
      cancel: ({ session }) => cancelTurn(parts, session),
      kill: async ({ session, force }) => (await import("./control/kill.ts")).killTurn(parts, session, { force }),
      watch: (params) => watchSession(parts, params),
      steer: (params) => steer(parts, params),
      takeBack: (params) => takeBack(parts, params),
      pause: ({ session, force }) => pauseTurn(parts, session, { force }),
      resume: ({ session }) => resumeTurn(parts, session),
      list: async ({ endedSince }) => (parts.hasStore() ? (await parts.store()).listTurns(endedSince) : []),
    },
    ask: { list: (params) => listAsks(parts, params), answer: (params) => answerAsk(parts, params) },
    bash: {
      execute: ({ session, command, timeoutMs, policy }) => turns.start({ ...bareTurn(session, policy), command, timeoutMs }),
    },
    health: {
      check: async () => ({
        status: "healthy",
        version: parts.version,
        protocol: protocolVersion,
        pid: process.pid,
        startedAt: parts.startedAt,
        running: parts.running.size,
      }),
    },
  };
}

async function cancelTurn(parts: EngineDeps, session: string): Promise<void> {
  if (parts.running.stop(session)) return;
  await callOwner(parts, session, { local: () => {}, remote: (api) => api.turn.cancel({ session }), idle: () => {}, mayRepeat: true });
}
