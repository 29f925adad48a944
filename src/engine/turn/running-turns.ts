// The turns that run in this process, whichever engine started them, and those who watch them from here. Keeps nothing:
// what lasts is in the store before it comes here.
import type { Clock } from "../../kit/flow/clock.ts";
import type { PauseGate } from "../../kit/flow/pause-gate.ts";
import { createLossyQueue, type LossyQueue } from "../../kit/flow/lossy-queue.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { Lease, Store } from "../../store/store.ts";
import type { Deadline } from "../limits/deadline.ts";
import type { Recorder } from "../record/recorder.ts";
import type { TurnRequest } from "./run-turn.ts";

/** A turn from the moment its session is taken until it is given up. */
export type RunningTurn = {
  params: TurnRequest;
  store: Store;
  lease: Lease;
  recorder: Recorder;
  deadline: Deadline;
  clock: Clock;
  gate: PauseGate;
  /** Who waits for the answer to a question, by its id. */
  asking: Map<string, (answer: string) => void>;
};

const watching = { lossy: 1000, required: 4000, everyMs: 20 };

export class RunningTurns {
  readonly #turns = new Map<string, RunningTurn>();
  readonly #starting = new Map<string, Set<AbortController>>();
  readonly #watchers = new Map<string, Set<LossyQueue<Event>>>();

  /** Also those that were asked for and have not begun. */
  get size(): number {
    return new Set([...this.#turns.keys(), ...this.#starting.keys()]).size;
  }

  get(session: string): RunningTurn | undefined {
    return this.#turns.get(session);
  }

  all(): Iterable<RunningTurn> {
    return this.#turns.values();
  }

  /** A turn that was asked for can be stopped from then on. */
  announce(session: string): { signal: AbortSignal; done: () => void } {
    const stop = new AbortController();
    const all = this.#starting.get(session) ?? new Set();
    this.#starting.set(session, all.add(stop));
    const done = (): void => {
      all.delete(stop);
      if (all.size === 0 && this.#starting.get(session) === all) this.#starting.delete(session);
    };
    return { signal: stop.signal, done };
  }

  /** Whether a turn was asked for in this process that has not come to rest, also between it and the next message's. */
  isExpected(session: string): boolean {
    return this.#starting.has(session);
  }

  /** False when nothing runs there in this process. */
  stop(session: string): boolean {
    const starting = this.#starting.get(session);
    const running = this.#turns.get(session);
    for (const stop of starting ?? []) stop.abort();
    running?.deadline.cancel();
    return starting !== undefined || running !== undefined;
  }

  /** Gives back what ends it. */
  begin(turn: RunningTurn): () => void {
    const { session } = turn.lease;
    this.#turns.set(session, turn);
    return () => {
      if (this.#turns.get(session) === turn) this.#turns.delete(session);
      for (const tail of this.#watchers.get(session) ?? []) tail.end();
    };
  }

  publish(event: Event): void {
    for (const tail of this.#watchers.get(event.sessionId) ?? []) tail.push(event, "n" in event ? "lossy" : "required");
  }

  /** What happens in a session from now on, as far as it happens here. */
  watch(session: string): { tail: LossyQueue<Event>; leave: () => void } {
    const tail = createLossyQueue<Event>(watching);
    const all = this.#watchers.get(session) ?? new Set();
    this.#watchers.set(session, all.add(tail));
    const leave = (): void => {
      tail.end();
      all.delete(tail);
      if (all.size === 0 && this.#watchers.get(session) === all) this.#watchers.delete(session);
    };
    return { tail, leave };
  }
}
