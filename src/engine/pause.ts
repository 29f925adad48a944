// A turn that stands still: its agent is asked for nothing more, what runs for it is stopped, its clocks too.
import type { PauseReport } from "../protocol/control.ts";
import type { EngineParts } from "./engine.ts";
import type { LiveTurn } from "./live.ts";
import { atOwner } from "./owner.ts";

export function pauseTurn(parts: EngineParts, session: string): Promise<PauseReport> {
  return atOwner(parts, session, {
    here: async (turn) => {
      await standStill(turn);
      return { session, state: "paused", pid: process.pid };
    },
    there: (api) => api.turn.pause({ session, force: false }),
    nowhere: () => ({ session, state: "not-running", pid: null }),
  });
}

export function resumeTurn(parts: EngineParts, session: string): Promise<PauseReport> {
  return atOwner(parts, session, {
    here: async (turn) => {
      await goOn(turn);
      return { session, state: "running", pid: process.pid };
    },
    there: (api) => api.turn.resume({ session }),
    nowhere: () => ({ session, state: "not-running", pid: null }),
  });
}

async function standStill({ gate, recorder }: LiveTurn): Promise<void> {
  if (gate.isShut) return;
  gate.shut();
  await recorder.setState("paused");
  recorder.pass({ type: "turn.paused" });
}

async function goOn({ gate, recorder, asking }: LiveTurn): Promise<void> {
  if (!gate.isShut) return;
  await recorder.setState(asking.size > 0 ? "asking" : "running");
  recorder.pass({ type: "turn.resumed" });
  gate.open();
}
