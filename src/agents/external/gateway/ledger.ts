// Records every request through the gateway: its usage, its cost and its error.
import type { WireName } from "../../../models/model.ts";
import type { TurnError } from "../../../protocol/api/error.ts";
import type { SettleReservation } from "../../../protocol/api/ports.ts";
import { addSpent, zeroSpent, zeroUsage, type Spent, type Usage } from "../../../protocol/tree/usage.ts";
import type { Meter } from "./meter.ts";
import type { GatewayRoute } from "./routes.ts";

export type MeteredRequest = {
  vendor: string;
  wire: WireName;
  kind: GatewayRoute["kind"];
  /** The model that the request named. */
  model: string | null;
  /** Null when the vendor did not answer, or was not asked. */
  status: number | null;
  usage: Usage;
  /** Null when the vendor reported no usage, or the price is unknown. */
  costUsd: number | null;
  /** Why the request was refused or interrupted. The CLI may print it in other words. */
  error: TurnError | null;
};

/** Size of the last request and usage of its answer, to estimate the next one. */
export type LastAnswer = { bytes: number; usage: Usage };

export type Price = (vendor: string, model: string, usage: Usage) => Promise<number | null>;

/** A request that has not ended. */
export type LedgerEntry = {
  vendor: string;
  route: GatewayRoute;
  model: string | null;
  /** Size of the request's body. */
  bytes: number;
  status: number | null;
  meter: Meter | null;
  /** Releases the budget that was reserved for the request; null before a reservation. */
  settle: SettleReservation | null;
};

type EntryState = { isEnding: boolean; ended: PromiseWithResolvers<void> };

export class Ledger {
  readonly records: MeteredRequest[] = [];
  spent: Spent = zeroSpent;
  lastAnswer: LastAnswer | null = null;
  readonly #price: Price;
  readonly #open = new Map<LedgerEntry, EntryState>();

  constructor(price: Price) {
    this.#price = price;
  }

  begin(request: Pick<LedgerEntry, "vendor" | "route" | "model" | "bytes">): LedgerEntry {
    const entry: LedgerEntry = { ...request, status: null, meter: null, settle: null };
    this.#open.set(entry, { isEnding: false, ended: Promise.withResolvers() });
    return entry;
  }

  /** Only the first call counts: an interrupted answer may also fail afterwards. */
  async end(entry: LedgerEntry, error: TurnError | null): Promise<void> {
    const state = this.#open.get(entry);
    if (!state || state.isEnding) return this.ended(entry);
    state.isEnding = true;
    const { route, meter, model, vendor, status } = entry;
    const reported = meter?.usage() ?? null;
    const usage = reported ?? zeroUsage;
    const costUsd = meter !== null && reported === null ? null : await this.#cost(entry, usage);
    this.records.push({ vendor, wire: route.wire, kind: route.kind, model, status, usage, costUsd, error });
    this.spent = addSpent(this.spent, { usage, costUsd });
    if (route.kind === "answer" && reported !== null) this.lastAnswer = { bytes: entry.bytes, usage };
    entry.settle?.({ usage, costUsd });
    this.#open.delete(entry);
    state.ended.resolve();
  }

  ended(entry: LedgerEntry): Promise<void> {
    return this.#open.get(entry)?.ended.promise ?? Promise.resolve();
  }

  /** Resolves when every request that is open now has ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((entry) => this.ended(entry)));
  }

  async #cost({ vendor, model }: LedgerEntry, usage: Usage): Promise<number | null> {
    if (Object.values(usage).every((count) => count === 0)) return 0;
    // Without a price the tokens still count.
    return model === null ? null : this.#price(vendor, model, usage).catch(() => null);
  }
}
