// Sessions that stand still: their calls wait, their clocks are stopped, and every process they have started is frozen,
// also what an earlier call left in the background. The executor itself stays awake: it must see when skein goes.
import { freeze, thaw } from "../kit/process/freeze.ts";
import { PauseGate } from "../kit/flow/pause-gate.ts";
import { descendantsOf, familyMembers } from "../kit/process/processes.ts";

export class Suspension {
  /** Shut while all that runs here stands still. */
  readonly whole = freezing(() => descendantsOf(process.pid));
  readonly #gates = new Map<string, PauseGate>();

  gateOf(session: string): PauseGate {
    const known = this.#gates.get(session);
    if (known !== undefined) return known;
    const gate = freezing(() => familyMembers({ root: null, envTag: `SKEIN_SESSION_ID=${session}` }));
    this.whole.add({ pause: () => gate.pause(this), resume: () => gate.resume(this) });
    this.#gates.set(session, gate);
    return gate;
  }

  /** Null is everything. */
  stop(session: string | null): void {
    (session === null ? this.whole : this.gateOf(session)).pause();
  }

  go(session: string | null): void {
    (session === null ? this.whole : this.gateOf(session)).resume();
  }

  release(): void {
    for (const gate of [this.whole, ...this.#gates.values()]) gate.release();
  }
}

/** A gate that stops what `find` finds while it is shut. */
function freezing(find: () => number[]): PauseGate {
  const gate = new PauseGate();
  let frozen: number[] = [];
  gate.add({
    pause: () => {
      frozen = freeze(find);
    },
    resume: () => thaw(frozen.splice(0)),
  });
  return gate;
}
