// Pauses sessions inside the executor: their calls wait, their time limits stop, and their processes are frozen.
// That includes background processes of earlier calls. The executor itself keeps running, to notice when skein ends.
import { PauseGate } from "../kit/flow/pause-gate.ts";
import { freeze, thaw } from "../kit/process/freeze.ts";
import { descendantsOf, familyMembers } from "../kit/process/processes.ts";

export class Suspension {
  /** Paused while every session of this executor is paused. */
  readonly allSessions = createFreezingGate(() => descendantsOf(process.pid));
  readonly #gates = new Map<string, PauseGate>();

  gateOf(session: string): PauseGate {
    const existing = this.#gates.get(session);
    if (existing !== undefined) return existing;
    const gate = createFreezingGate(() => familyMembers({ root: null, envTag: `SKEIN_SESSION_ID=${session}` }));
    const pause = (): Promise<void> => {
      gate.pause(this);
      return gate.whenStopped();
    };
    this.allSessions.add({ pause, resume: () => gate.resume(this) });
    this.#gates.set(session, gate);
    return gate;
  }

  /** Null pauses every session. Resolves when no process of it can run; does not resolve if one did not stop. */
  pause(session: string | null): Promise<void> {
    const gate = session === null ? this.allSessions : this.gateOf(session);
    gate.pause();
    return gate.whenStopped();
  }

  resume(session: string | null): void {
    (session === null ? this.allSessions : this.gateOf(session)).resume();
  }
}

const neverStopped = new Promise<void>(() => {});

/** A gate that freezes the processes from `listPids` while it is paused. */
function createFreezingGate(listPids: () => number[]): PauseGate {
  const gate = new PauseGate();
  let frozen: number[] = [];
  gate.add({
    pause: () => {
      const { pids, isComplete } = freeze(listPids);
      frozen = pids;
      return isComplete ? undefined : neverStopped;
    },
    resume: () => thaw(frozen.splice(0)),
  });
  return gate;
}
