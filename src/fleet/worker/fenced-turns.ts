// Self-fencing: a process pauses all its turns shortly before other workers may take them over, if the database has answered no
// heartbeat. No request leaves, and all their processes are frozen. After the next answered heartbeat the turns continue that
// this process still owns.
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
