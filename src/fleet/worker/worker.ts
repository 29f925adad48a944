// A worker: claims runs while it has free slots, and works on each to its end. Rescues the runs of workers that are gone.
// Its heartbeat, and what follows when it is not answered, belong to the store and to `self-fencing.ts`.
import type { PgBoss } from "pg-boss";
import { messageOf } from "../../protocol/api/error.ts";
import type { PgDb } from "../../store/postgres/connection/connection.ts";
import { claimRun, rescueRuns, type Claim } from "../queue/runs.ts";
import { queueOptions, queuesOf } from "../queue/queues.ts";

export type WorkerDeps = {
  db: PgDb;
  boss: PgBoss;
  /** The id of this process in `skein.workers`. */
  id: string;
  slots: number;
  labels: readonly string[];
  /** Works on one run and records its end. Must not throw. */
  takeRun: (claim: Claim) => Promise<void>;
  /** Makes runs of the schedules that are due. */
  fireSchedules: () => Promise<void>;
  log: (line: string) => void;
};

/** Workers find runs by polling. A notification only makes the start faster. */
const pollMs = 1_000;
const rescueEveryMs = 2_000;

/** Wakes the workers that wait for runs. */
export const runsChannel = "skein_runs";

export type RunningWorker = {
  /** Takes no new run. Resolves when the running ones have ended. */
  drain: () => Promise<void>;
  /** Looks now for runs whose worker is gone. */
  rescue: () => void;
  /** Also resolves when it was drained from elsewhere. */
  stopped: Promise<void>;
};

export async function startWorker(deps: WorkerDeps): Promise<RunningWorker> {
  const worker = new Worker(deps);
  await worker.start();
  return { drain: () => worker.drain(), rescue: () => worker.rescue(), stopped: worker.stopped };
}

class Worker {
  readonly #deps: WorkerDeps;
  readonly #queues: string[];
  readonly #runs = new Map<string, Promise<void>>();
  readonly #stopped = Promise.withResolvers<void>();
  #timer: Timer | null = null;
  #stopListening: (() => Promise<void>) | null = null;
  #claiming: Promise<void> | null = null;
  #mustClaimAgain = false;
  #rescuedAt = -Infinity;
  #isDraining = false;
  #problem = "";

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    this.#queues = queuesOf(deps.labels);
  }

  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  async start(): Promise<void> {
    const { db, boss } = this.#deps;
    for (const queue of this.#queues) await boss.createQueue(queue, queueOptions);
    const wake = (): void => this.#wake();
    this.#stopListening = await db.listen(runsChannel, wake);
    this.#timer = setInterval(wake, pollMs);
    wake();
  }

  rescue(): void {
    this.#rescuedAt = -Infinity;
    this.#wake();
  }

  async drain(): Promise<void> {
    if (!this.#isDraining) {
      this.#isDraining = true;
      if (this.#timer !== null) clearInterval(this.#timer);
      await this.#claiming;
      while (this.#runs.size > 0) await Promise.all(this.#runs.values());
      await this.#stopListening?.();
      this.#stopped.resolve();
    }
    await this.#stopped.promise;
  }

  #wake(): void {
    if (this.#isDraining) return;
    if (this.#claiming !== null) {
      this.#mustClaimAgain = true;
      return;
    }
    this.#claiming = this.#claimAll()
      .then(() => void (this.#problem = ""))
      .catch((error: unknown) => this.#report(messageOf(error)))
      .finally(() => {
        this.#claiming = null;
        if (!this.#mustClaimAgain) return;
        this.#mustClaimAgain = false;
        this.#wake();
      });
  }

  async #claimAll(): Promise<void> {
    const { db, boss, id, slots, log } = this.#deps;
    if (performance.now() - this.#rescuedAt > rescueEveryMs) {
      this.#rescuedAt = performance.now();
      if (await this.#isDrainWanted()) return void this.drain();
      for (const { run, state } of await rescueRuns(db, boss, { worker: id, running: [...this.#runs.keys()] }))
        log(
          `run ${run.id}: its worker ${run.worker} is gone or has forgotten it; ${state === "dead" ? "it is dead after its last attempt" : "it waits again"}`,
        );
      await this.#deps.fireSchedules();
    }
    while (this.#runs.size < slots && !this.#isDraining) {
      const claim = await claimRun(db, boss, { worker: id, queues: this.#queues });
      if (claim === null) return;
      this.#take(claim);
    }
  }

  #take(claim: Claim): void {
    const { id } = claim.run;
    const running = this.#deps.takeRun(claim).finally(() => {
      if (this.#runs.get(id) === running) this.#runs.delete(id);
      this.#wake();
    });
    this.#runs.set(id, running);
  }

  async #isDrainWanted(): Promise<boolean> {
    const { db, id } = this.#deps;
    const row = await db.row<{ is_draining: boolean }>("select is_draining from skein.workers where id = $1::text", id);
    return row?.is_draining === true;
  }

  #report(problem: string): void {
    if (problem !== this.#problem) this.#deps.log(problem);
    this.#problem = problem;
  }
}
