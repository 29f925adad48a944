// The running turns of this process, of all its engines, and their watchers. It stores nothing: a durable event is in
// the store before it is published here.
import type { Clock } from "../../kit/flow/clock.ts";
import type { PauseGate } from "../../kit/flow/pause-gate.ts";
import { createLossyQueue, type LossyQueue } from "../../kit/flow/lossy-queue.ts";
import { resumeCommand, type TurnError } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { Lease, Store } from "../../store/store.ts";
import type { Deadline } from "../limits/deadline.ts";
import type { Recorder } from "../record/recorder.ts";
import type { TurnRequest } from "./run-turn.ts";

/** A turn from the moment it has its session's lease until the lease is released. */
export type RunningTurn = {
  params: TurnRequest;
  store: Store;
  lease: Lease;
  recorder: Recorder;
  deadline: Deadline;
  clock: Clock;
  gate: PauseGate;
  /** Whether a later hub continues the turn if this one stops before the turn has ended. */
  canContinue: boolean;
  /** Callbacks for the answers to open questions, by id of the question. */
  asking: Map<string, (answer: string) => void>;
};

/** A watcher gets events at most every 20 ms. From 1000 waiting events on it loses transient ones; from 4000 on it must read the store again. */
const queueLimits = { lossy: 1000, required: 4000, everyMs: 20 };

/** The kind is that of a killed hub: both are interrupted turns, and are continued alike. */
const hubStopped: TurnError = {
  kind: "killed",
  message: "the hub was stopped during this turn",
  hint: `the next hub continues it; or continue now with \`${resumeCommand}\``,
};

export class RunningTurns {
  readonly #turns = new Map<string, RunningTurn>();
  readonly #requested = new Map<string, Set<AbortController>>();
  readonly #watchers = new Map<string, Set<LossyQueue<Event>>>();

  /** Counts also turns that were requested and have not started yet. */
  get size(): number {
    return new Set([...this.#turns.keys(), ...this.#requested.keys()]).size;
  }

  get(session: string): RunningTurn | undefined {
    return this.#turns.get(session);
  }

  all(): Iterable<RunningTurn> {
    return this.#turns.values();
  }

  /** Registers a requested turn, so that it can be stopped before it has started. Call `done` when it has ended. */
  announce(session: string): { signal: AbortSignal; done: () => void } {
    const controller = new AbortController();
    return { signal: controller.signal, done: addTo(this.#requested, session, controller) };
  }

  /** Whether a requested turn of this process has not ended, also between it and the turn of a queued message. */
  isRequested(session: string): boolean {
    return this.#requested.has(session);
  }

  /** Returns false if this process runs nothing in the session. With `mayContinue` a later hub continues the turn, if it can. */
  stop(session: string, { mayContinue }: { mayContinue: boolean } = { mayContinue: false }): boolean {
    const requested = this.#requested.get(session);
    const running = this.#turns.get(session);
    if (mayContinue && running?.canContinue === true) running.deadline.end(hubStopped);
    for (const controller of requested ?? []) controller.abort();
    running?.deadline.cancel();
    return requested !== undefined || running !== undefined;
  }

  /** Returns the function that unregisters the turn. */
  begin(turn: RunningTurn): () => void {
    const { session } = turn.lease;
    this.#turns.set(session, turn);
    return () => {
      if (this.#turns.get(session) === turn) this.#turns.delete(session);
      for (const queue of this.#watchers.get(session) ?? []) queue.end();
    };
  }

  publish(event: Event): void {
    for (const queue of this.#watchers.get(event.sessionId) ?? []) queue.push(event, "n" in event ? "lossy" : "required");
  }

  /** The events of a session from now on, if this process runs it. */
  watch(session: string): { queue: LossyQueue<Event>; unsubscribe: () => void } {
    const queue = createLossyQueue<Event>(queueLimits);
    const remove = addTo(this.#watchers, session, queue);
    const unsubscribe = (): void => {
      queue.end();
      remove();
    };
    return { queue, unsubscribe };
  }
}

/** Adds an item to the set of a session. Returns the function that removes it. */
function addTo<Item>(sets: Map<string, Set<Item>>, session: string, item: Item): () => void {
  const set = sets.get(session) ?? new Set();
  sets.set(session, set.add(item));
  return () => {
    set.delete(item);
    if (set.size === 0 && sets.get(session) === set) sets.delete(session);
  };
}
