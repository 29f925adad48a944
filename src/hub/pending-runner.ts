// Starts pending turns when their time has come and their session is free. Compares wall-clock times at short intervals: one
// long timer would be late after the machine was suspended. The store guarantees that a turn starts once.
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { Api } from "../protocol/api/api.ts";
import type { PendingTurn } from "../protocol/api/control.ts";
import type { Clock } from "../kit/flow/clock.ts";

export type PendingRunnerDeps = {
  /** Lists pending turns of all sessions. */
  pending: () => Promise<PendingTurn[]>;
  /** The Api with which the turn's caller would start it. */
  apiFor: (turn: PendingTurn) => Promise<Api>;
  /** Changes when a blocked turn may start after all, for example with the key of a new caller. */
  callerVersion: () => number;
  /** The time of day: wake times are compared with it. */
  clock: Clock;
  log: (line: string) => void;
};

const everyMs = { idle: 1_000, pending: 200 };
/** Turns that waited for one credential start at least this far apart, also if all of them are late. */
const startGapMs = 2_000;
/** A turn that could not start is tried again after this time. */
const retryMs = 60_000;

export class PendingRunner {
  readonly #deps: PendingRunnerDeps;
  /** Sessions whose pending turn this hub runs. */
  readonly #starting = new Set<string>();
  readonly #lastStarts = new Map<string, number>();
  readonly #blocked = new Map<string, { at: number; version: number }>();
  #cancelTimer: (() => void) | null = null;
  #isStopped = false;
  #reported = "";

  constructor(deps: PendingRunnerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#schedule(0);
  }

  /** No turn starts any more. Running ones continue. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  /** Looks for pending turns now. */
  wake(): void {
    this.#schedule(0);
  }

  #schedule(ms: number): void {
    this.#cancelTimer?.();
    if (!this.#isStopped) this.#cancelTimer = this.#deps.clock.setTimer(ms, () => void this.#check());
  }

  async #check(): Promise<void> {
    let count = 0;
    try {
      const turns = await this.#deps.pending();
      count = turns.length;
      for (const turn of turns) if (!this.#isStopped && this.#isDue(turn)) void this.#run(turn);
    } catch (error) {
      this.#reportOnce(`pending turns could not be read: ${messageOf(error)}`);
    }
    this.#schedule(count > 0 ? everyMs.pending : everyMs.idle);
  }

  /** Marks the start of a turn that waited, so that the next one of its credential starts later. */
  #isDue({ id, place, session, isSessionBusy, wakeAt, kind, credential }: PendingTurn): boolean {
    const now = this.#deps.clock.now();
    if (place > 1 || isSessionBusy || this.#starting.has(session) || (wakeAt !== null && wakeAt > now)) return false;
    const blocked = this.#blocked.get(id);
    const isBlocked = blocked !== undefined && blocked.version === this.#deps.callerVersion() && Math.abs(now - blocked.at) < retryMs;
    if (isBlocked) return false;
    if (kind !== "waiting" || credential === null) return true;
    // The absolute value: the clock may have been set back.
    if (Math.abs(now - (this.#lastStarts.get(credential) ?? -Infinity)) < startGapMs) return false;
    this.#lastStarts.set(credential, now);
    return true;
  }

  async #run(turn: PendingTurn): Promise<void> {
    const { log, apiFor, clock, callerVersion } = this.#deps;
    this.#starting.add(turn.session);
    // Read before the start: a caller that connects during the attempt may bring the missing key.
    const version = callerVersion();
    try {
      const api = await apiFor(turn);
      try {
        for await (const event of api.turn.startPending({ pending: turn.id }))
          if (event.type === "turn.started" && event.turnId === turn.id) log(`session ${turn.session}: ${startTexts[turn.kind]}`);
      } finally {
        await api.close("finish");
      }
      this.#blocked.delete(turn.id);
      this.#starting.delete(turn.session);
      this.wake();
    } catch (error) {
      const isExpected = error instanceof Fault && ["session-busy", "pending-unknown"].includes(error.code);
      if (!isExpected) {
        this.#blocked.set(turn.id, { at: clock.now(), version });
        this.#reportOnce(`session ${turn.session}: turn ${turn.id} could not start: ${messageOf(error)}`);
      }
    } finally {
      this.#starting.delete(turn.session);
    }
  }

  #reportOnce(line: string): void {
    if (line !== this.#reported) this.#deps.log(line);
    this.#reported = line;
  }
}

const startTexts: Record<PendingTurn["kind"], string> = {
  queued: "its queued turn starts",
  waiting: "its turn continues after the limit",
  continued: "its interrupted turn continues",
};
