// What passed through the gateway, request by request, and what it came to.
import type { WireName } from "../../../models/model.ts";
import type { Json } from "../../../models/wire/json.ts";
import type { TurnError } from "../../../protocol/api/error.ts";
import type { SettleReservation } from "../../../protocol/api/ports.ts";
import { addSpent, zeroSpent, zeroUsage, type Spent, type Usage } from "../../../protocol/tree/usage.ts";
import { watchCache } from "./cache-watch.ts";
import type { Meter } from "./meter.ts";
import type { GatewayRoute } from "./routes.ts";

export type MeteredRequest = {
  vendor: string;
  wire: WireName;
  kind: GatewayRoute["kind"];
  /** As the request named it. */
  model: string | null;
  startedAt: number;
  /** Until the vendor's first byte; null when there was none. */
  firstByteMs: number | null;
  durationMs: number;
  /** Null when the vendor did not answer, or was not asked. */
  status: number | null;
  usage: Usage;
  costUsd: number | null;
  /** Refused for the budget, refused by the vendor, broken off: what the CLI may tell in other words. */
  error: TurnError | null;
  /** Why the cache did not help, or why nothing was counted. */
  note: string | null;
};

/** What the next answer's size is guessed by. */
export type LastAnswer = { bytes: number; usage: Usage };

export type Price = (vendor: string, model: string, usage: Usage) => Promise<number | null>;

/** A request on its way. */
export type LedgerEntry = {
  vendor: string;
  route: GatewayRoute;
  model: string | null;
  json: Json | null;
  /** Of the request's body. */
  bytes: number;
  startedAt: number;
  firstByteMs: number | null;
  status: number | null;
  meter: Meter | null;
  /** Gives back the room that was reserved for it; null before there is any. */
  settle: SettleReservation | null;
};

type Open = { isEnding: boolean; ended: PromiseWithResolvers<void> };

export class Ledger {
  readonly records: MeteredRequest[] = [];
  spent: Spent = zeroSpent;
  lastAnswer: LastAnswer | null = null;
  readonly #price: Price;
  readonly #onRequest: (metered: MeteredRequest) => void;
  readonly #open = new Map<LedgerEntry, Open>();
  readonly #cache = watchCache();

  constructor(price: Price, onRequest: (metered: MeteredRequest) => void) {
    this.#price = price;
    this.#onRequest = onRequest;
  }

  begin(given: Pick<LedgerEntry, "vendor" | "route" | "model" | "json" | "bytes">): LedgerEntry {
    const entry: LedgerEntry = { ...given, startedAt: Date.now(), firstByteMs: null, status: null, meter: null, settle: null };
    this.#open.set(entry, { isEnding: false, ended: Promise.withResolvers() });
    return entry;
  }

  /** Only the first call counts: an answer that was left may also break. */
  async end(entry: LedgerEntry, error: TurnError | null): Promise<void> {
    const open = this.#open.get(entry);
    if (!open || open.isEnding) return this.ended(entry);
    open.isEnding = true;
    const { route, meter, model, vendor, startedAt, firstByteMs, status } = entry;
    const counted = meter?.usage() ?? null;
    const isUncounted = meter !== null && counted === null;
    const usage = counted ?? zeroUsage;
    const costUsd = isUncounted ? null : await this.#cost(entry, usage);
    const note = isUncounted ? "the vendor told no usage" : error === null ? this.#cacheNote(entry, usage) : null;
    const durationMs = Date.now() - startedAt;
    const request = { vendor, wire: route.wire, kind: route.kind, model, startedAt, firstByteMs, durationMs, status };
    const metered: MeteredRequest = { ...request, usage, costUsd, error, note };
    this.records.push(metered);
    this.spent = addSpent(this.spent, { usage, costUsd });
    if (route.kind === "answer" && counted !== null) this.lastAnswer = { bytes: entry.bytes, usage };
    entry.settle?.({ usage, costUsd });
    this.#open.delete(entry);
    open.ended.resolve();
    this.#onRequest(metered);
  }

  ended(entry: LedgerEntry): Promise<void> {
    return this.#open.get(entry)?.ended.promise ?? Promise.resolve();
  }

  /** When all that runs now is over. */
  async settled(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((entry) => this.ended(entry)));
  }

  #cacheNote({ route, model, json, startedAt }: LedgerEntry, usage: Usage): string | null {
    if (route.kind !== "answer" || json === null) return null;
    return this.#cache.note({ wire: route.wire, model, body: json, at: startedAt, usage });
  }

  async #cost({ vendor, model }: LedgerEntry, usage: Usage): Promise<number | null> {
    if (Object.values(usage).every((count) => count === 0)) return 0;
    // Without a price it is counted all the same.
    return model === null ? null : this.#price(vendor, model, usage).catch(() => null);
  }
}
