// Lets the writers of all processes take turns. SQLite gives its lock to the writer that asks in the right moment, so one
// of many may wait for ever. A writer that finds the store locked adds a ticket: an empty file, named by the time of its
// arrival, in a directory beside the store. The oldest ticket writes next, and new writers queue up while there is one.
// The queue only orders. SQLite's lock protects the data, so a lost or skipped ticket does no damage.
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmdirSync, statSync, unlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { yieldToEventLoop } from "../../kit/flow/time-slice.ts";
import { errorCode, lockedFault } from "./faults.ts";
import { pidNamespace } from "./lease.ts";

/** Waiting time without any progress of any writer, after which a write fails. */
const defaultLimitMs = 10_000;
/** The ticket of a process that was stopped, or can't be seen from here, is removed at this age. */
const staleMs = 5000;
const touchMs = 1000;
/** A ticket is skipped after this time without progress: its process may get no CPU time, or may be stopped. */
const skipAfterMs = 10;
/** The longest time between two looks at the queue. A look lists a directory, so that many writers should not look often. */
const longestPauseMs = 2000;
/** For this time a writer may rely on having found no ticket: the check costs 2 µs. */
const emptyForMs = 1;
const maxAddAttempts = 1000;

/** Runs one transaction. Returns null if the store is locked. */
export type Attempt<T> = () => { value: T } | null;

export class WriteQueue {
  readonly #storePath: string;
  readonly #directory: string;
  readonly #limitMs: number;
  /** Number of waiting writes of this process. */
  #waiting = 0;
  /** The last waiting write of this process. Writes of one process keep their order. */
  #last: Promise<unknown> = Promise.resolve();
  #foundEmptyAt = -Infinity;

  constructor(storePath: string, limitMs = defaultLimitMs) {
    this.#storePath = storePath;
    this.#directory = `${storePath}-queue`;
    this.#limitMs = limitMs;
  }

  /** Whether no write waits, neither of this process nor of another one. */
  isEmpty(): boolean {
    if (this.#waiting > 0) return false;
    if (this.#storePath === ":memory:") return true;
    const now = performance.now();
    if (now - this.#foundEmptyAt < emptyForMs) return true;
    if (existsSync(this.#directory)) return false;
    this.#foundEmptyAt = now;
    return true;
  }

  /** Calls `attempt` in its turn, until it returns a value. Throws `store-busy` if no writer makes progress any more. */
  wait<T>(attempt: Attempt<T>): Promise<T> {
    const ticket = newTicket();
    this.#waiting += 1;
    this.#foundEmptyAt = -Infinity;
    const result = this.#last.then(() => this.#takeTurn(ticket, attempt));
    this.#last = result.then(
      () => this.#leave(),
      () => this.#leave(),
    );
    return result;
  }

  /** The caller continues before the next write of this process starts, so that it publishes its events in their order. */
  async #leave(): Promise<void> {
    await yieldToEventLoop();
    this.#waiting -= 1;
  }

  /** Resolves when no write of this process waits. */
  async settle(): Promise<void> {
    while (this.#waiting > 0) await this.#last;
  }

  async #takeTurn<T>(ticket: string, attempt: Attempt<T>): Promise<T> {
    const watch = new ProgressWatch(this.#storePath);
    this.#add(ticket);
    let touchedAt = performance.now();
    try {
      for (;;) {
        const ahead = this.#countBefore(ticket);
        watch.look(ahead);
        const done = watch.idleMs >= ahead * skipAfterMs ? attempt() : null;
        if (done !== null) return done.value;
        if (watch.idleMs >= this.#limitMs) throw lockedFault(this.#storePath, this.#limitMs);
        await Bun.sleep(watch.pauseMs());
        if (performance.now() - touchedAt < touchMs) continue;
        touchedAt = performance.now();
        this.#touch(ticket);
      }
    } finally {
      this.#remove(ticket);
    }
  }

  /** The number of earlier tickets. Removes the first one if its process has ended. */
  #countBefore(ticket: string): number {
    const earlier = this.#tickets(ticket).filter((name) => name < ticket);
    if (earlier.length === 0) return 0;
    const first = earlier.reduce((a, b) => (a < b ? a : b));
    return this.#isWaiting(first) ? earlier.length : earlier.length - 1;
  }

  /** Others may have removed this process's own ticket, and with it the directory, if it got no CPU time for some seconds. */
  #tickets(own: string): string[] {
    try {
      return readdirSync(this.#directory);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
      this.#add(own);
      return [own];
    }
  }

  #isWaiting(ticket: string): boolean {
    const touchedAt = statSync(join(this.#directory, ticket), { throwIfNoEntry: false })?.mtimeMs;
    if (touchedAt === undefined) return false;
    if (!hasEnded(ticket) && Math.abs(Date.now() - touchedAt) < staleMs) return true;
    this.#remove(ticket);
    return false;
  }

  /**
   * The last writer to leave removes the directory, so it may vanish at any time. Bun's recursive `mkdirSync` throws EEXIST
   * if that happens while it runs.
   */
  #add(ticket: string): void {
    for (let attempt = 1; ; attempt += 1) {
      try {
        ignoring("EEXIST", () => mkdirSync(this.#directory, { mode: 0o700 }));
        closeSync(openSync(join(this.#directory, ticket), "a", 0o600));
        return;
      } catch (error) {
        // After so many attempts the store's own directory is gone.
        if (errorCode(error) !== "ENOENT" || attempt === maxAddAttempts) throw error;
      }
    }
  }

  /** Shows the others that this process still waits. Adds the ticket again if one of them has removed it. */
  #touch(ticket: string): void {
    const now = new Date();
    this.#add(ticket);
    ignoring("ENOENT", () => utimesSync(join(this.#directory, ticket), now, now));
  }

  #remove(ticket: string): void {
    ignoring("ENOENT", () => unlinkSync(join(this.#directory, ticket)));
    ignoring("ENOENT ENOTEMPTY EEXIST", () => rmdirSync(this.#directory));
  }
}

/** Follows the progress of the other writers, which shows in the write-ahead log and in the length of the queue. */
class ProgressWatch {
  readonly #log: string;
  /** Time without any progress. */
  idleMs = 0;
  #ahead = Infinity;
  #stamp = "";
  #lookedAt = performance.now();
  #movedAt = performance.now();
  /** The time that each writer needed lately. */
  #turnMs = 1;

  constructor(storePath: string) {
    this.#log = `${storePath}-wal`;
  }

  /** Counts little of a long pause: this process was stopped then, or the machine was suspended. */
  look(ahead: number): void {
    const now = performance.now();
    const sinceLastMs = Math.min(now - this.#lookedAt, 2 * longestPauseMs);
    const log = statSync(this.#log, { throwIfNoEntry: false });
    const stamp = `${log?.mtimeMs} ${log?.size}`;
    this.idleMs = ahead < this.#ahead || stamp !== this.#stamp ? 0 : this.idleMs + sinceLastMs;
    if (ahead < this.#ahead) {
      this.#turnMs = Math.max(1, (now - this.#movedAt) / (this.#ahead - ahead));
      this.#movedAt = now;
    }
    this.#ahead = ahead;
    this.#stamp = stamp;
    this.#lookedAt = now;
  }

  /** Half of the time that the writers ahead will need, so that a long queue costs little CPU time. */
  pauseMs(): number {
    return Math.max(1, Math.min((this.#ahead * this.#turnMs) / 2, longestPauseMs));
  }
}

let ticketCount = 0;
let namespace: string | null = null;

/** `<time>-<count>-<pid>-<pid namespace>`. Sorts by time, and by order within the process. */
function newTicket(): string {
  ticketCount += 1;
  return [String(Date.now()).padStart(15, "0"), String(ticketCount).padStart(9, "0"), process.pid, ownNamespace()].join("-");
}

/** Whether the process of a ticket has ended. False if it can't be seen from here. */
function hasEnded(ticket: string): boolean {
  const [, , pid, itsNamespace] = ticket.split("-");
  if (itsNamespace !== ownNamespace()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return errorCode(error) === "ESRCH";
  }
}

function ownNamespace(): string {
  return (namespace ??= pidNamespace().replaceAll(/\D/g, ""));
}

function ignoring(codes: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!codes.split(" ").includes(errorCode(error))) throw error;
  }
}
