// This process as a row of `workers`, and what its heartbeat does. The database's clock alone decides which workers count as running.
// `onSilent` uses a clock of this machine that also runs while it sleeps, because the database can't be asked then.
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { Lease } from "../../store.ts";
import { currentProcess, type LeaseHolder } from "../../sqlite/lease.ts";
import type { PgDb } from "../connection/connection.ts";

export type WorkerInfo = {
  /** Runs that the process takes at once. Set: the process is registered when the store opens. */
  slots?: number;
  labels?: string[];
  version?: string;
  /** The name of the machine. Default: its host name. */
  machine?: string;
  /** The socket on which this process serves the Api. */
  address?: () => string | null;
  /** How long a process may be silent before its sessions are taken over. Default: 8 seconds. */
  ttlMs?: number;
  /** Time between two heartbeats. Default: 2 seconds. */
  beatMs?: number;
  /** Milliseconds of a clock that also runs while the machine sleeps. Default: that of the kernel. */
  clock?: () => number;
  /** Overrides parts of this process's identity, for tests. */
  holder?: Partial<LeaseHolder>;
};

export type Reaped = { session: string; epoch: number; worker: string };

export type HeartbeatHooks = {
  /** Called with leases that are not ours any more. Their turns must stop without a write. */
  onLost?: (leases: Lease[]) => void;
  /** Called once, when no heartbeat was answered for the TTL minus one second. Nothing may be sent or run until `onHeard`. */
  onSilent?: () => void;
  /** Called when a heartbeat is answered again, after `onLost`. */
  onHeard?: () => void;
  /** Called with sessions that this heartbeat took from silent workers. Only a hint: open turns without a holder are the truth. */
  onReaped?: (reaped: Reaped[]) => void;
  /** Called once, when a user has asked this worker to take no new run. */
  onDraining?: () => void;
};

type Beat = { known: boolean; draining: boolean; lost: string[]; reaped: Reaped[]; now: number };

export class Worker {
  readonly id = Bun.randomUUIDv7();
  readonly self: LeaseHolder;
  readonly #db: PgDb;
  readonly #info: WorkerInfo;
  readonly #hooks: HeartbeatHooks;
  readonly #leases = new Set<Lease>();
  readonly #ttlMs: number;
  #registered: Promise<void> | null = null;
  #timer: Timer | null = null;
  /** The time, by the database, of the last answered heartbeat before which every lease of ours was listed. */
  #listedAt = 0;
  #acquiring = 0;
  readonly #clock: () => number;
  #answeredAt: number;
  #isSilent = false;
  #isDraining = false;

  constructor(db: PgDb, info: WorkerInfo, hooks: HeartbeatHooks) {
    this.#db = db;
    this.#info = info;
    this.#hooks = hooks;
    this.#ttlMs = info.ttlMs ?? 8_000;
    this.#clock = info.clock ?? awakeTime;
    this.#answeredAt = this.#clock();
    this.self = { ...currentProcess(), ...info.holder };
  }

  /** Adds the row of this process, once, and starts the heartbeat. */
  register(): Promise<void> {
    this.#registered ??= this.#register().catch((error: unknown) => {
      this.#registered = null;
      throw error;
    });
    return this.#registered;
  }

  /** Counts acquisitions whose answer is not here yet: the heartbeat must not give such a session back. */
  async acquiring<T>(act: () => Promise<T>): Promise<T> {
    this.#acquiring += 1;
    try {
      return await act();
    } finally {
      this.#acquiring -= 1;
    }
  }

  hold(lease: Lease): void {
    this.#leases.add(lease);
  }

  drop({ session, epoch }: Lease): void {
    for (const lease of this.#leases) if (lease.session === session && lease.epoch === epoch) this.#leases.delete(lease);
  }

  leases(): Lease[] {
    return [...this.#leases];
  }

  /** Sends one heartbeat, and calls the hooks for what its answer says. */
  async beat(): Promise<void> {
    const sentAt = this.#clock();
    const listed = this.leases();
    const listedAt = this.#acquiring > 0 ? 0 : this.#listedAt;
    const beat = await this.#db.call<Beat>("beat", this.id, JSON.stringify(listed.map(({ session, epoch }) => [session, epoch])), listedAt);
    this.#answeredAt = sentAt;
    this.#listedAt = beat.now;
    if (!beat.known) await this.#sendRow();
    const lost = listed.filter((lease) => beat.lost.includes(lease.session) && this.#leases.has(lease));
    for (const lease of lost) this.#leases.delete(lease);
    if (lost.length > 0) this.#hooks.onLost?.(lost);
    // An answer that took longer than that proves nothing: the sessions may have been taken since it was sent.
    if (this.#isSilent && this.#silentMs() >= this.#silenceLimitMs()) return this.beat();
    if (this.#isSilent) {
      this.#isSilent = false;
      this.#hooks.onHeard?.();
    }
    if (beat.reaped.length > 0) this.#hooks.onReaped?.(beat.reaped);
    if (beat.draining && !this.#isDraining) this.#hooks.onDraining?.();
    this.#isDraining = beat.draining;
  }

  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    if (this.#registered === null) return;
    this.#leases.clear();
    await this.#db.call("drop_worker", this.id);
  }

  async #register(): Promise<void> {
    await this.#sendRow();
    this.#answeredAt = this.#clock();
    const beatMs = this.#info.beatMs ?? 2_000;
    let isBeating = false;
    let nextAt = this.#clock() + beatMs;
    // Silence is noticed earlier than the next heartbeat is due.
    this.#timer = setInterval(
      () => {
        this.#noticeSilence();
        if (isBeating || this.#clock() < nextAt) return;
        isBeating = true;
        nextAt = this.#clock() + beatMs;
        // A failed heartbeat is not an error of its own: the next one is sent, and silence has its own hook.
        void this.beat()
          .catch(() => {})
          .finally(() => (isBeating = false));
      },
      Math.min(beatMs / 4, 500),
    ).unref();
  }

  #silentMs(): number {
    return this.#clock() - this.#answeredAt;
  }

  #silenceLimitMs(): number {
    return this.#ttlMs - Math.min(1_000, this.#ttlMs / 4);
  }

  #noticeSilence(): void {
    if (this.#isSilent || this.#silentMs() < this.#silenceLimitMs()) return;
    this.#isSilent = true;
    this.#hooks.onSilent?.();
  }

  async #sendRow(): Promise<void> {
    const { boot, namespace, pid, started } = this.self;
    const { slots = 0, labels = [], version = "", machine = hostname(), address } = this.#info;
    const row = { id: this.id, machine, boot, namespace, pid, started, address: address?.() ?? null, slots, version };
    await this.#db.call("register", JSON.stringify({ ...row, labels: JSON.stringify(labels), ttlMs: this.#ttlMs }));
  }
}

/** Milliseconds since the start of the machine, with the time that it slept. On macOS the monotonic clock includes it. */
function awakeTime(): number {
  if (process.platform !== "linux") return Bun.nanoseconds() / 1e6;
  return Number(/^\S+/.exec(readFileSync("/proc/uptime", "utf8"))?.[0]) * 1000;
}
