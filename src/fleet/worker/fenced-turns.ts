// Self-fencing: a process that has not been heard by the database for almost as long as it takes to be replaced pauses all its
// turns. No request leaves and every process of theirs is frozen. When a heartbeat is answered again, those that are still its own continue.
import type { PauseGate } from "../../kit/flow/pause-gate.ts";
import type { HeartbeatHooks } from "../../store/postgres/leases/worker.ts";

/** The running turns of this process. */
export type FencedTurns = {
  gates: () => Iterable<PauseGate>;
  /** Stops the turn. It can't write any more. */
  stop: (session: string) => void;
};

/** Holds the gates; another holder, such as `skein pause`, keeps its own. */
const silence = {};

export function heartbeatHooks(turns: FencedTurns): HeartbeatHooks {
  return {
    onSilent() {
      for (const gate of turns.gates()) gate.pause(silence);
    },
    onHeard() {
      for (const gate of turns.gates()) gate.resume(silence);
    },
    onLost(leases) {
      for (const { session } of leases) turns.stop(session);
    },
  };
}
