// Records every request through the gateway: its usage, its cost and its error.
import type { Endpoint, WireName } from "../../../models/model.ts";
import type { TurnError } from "../../../protocol/api/error.ts";
import type { SettleReservation } from "../../../protocol/api/ports.ts";
import { addSpent, zeroSpent, zeroUsage, type Spent, type Usage } from "../../../protocol/tree/usage.ts";
import { tokensIn } from "../../../kit/text/bytes-per-token.ts";
import type { Meter } from "./meter.ts";
import type { GatewayRoute } from "./routes.ts";

/** A request that has ended. */
export type MeteredRequest = {
  wire: WireName;
  kind: GatewayRoute["kind"];
  /** The model that the request named. */
  model: string | null;
  /** Null when the vendor did not answer, or was not asked. */
  status: number | null;
  /** An estimate for an answer whose usage the vendor did not report, or not completely. */
  usage: Usage;
  /** Null when the price is unknown. */
  costUsd: number | null;
  /** Why the request was refused or interrupted. The CLI may print it in other words. */
  error: TurnError | null;
};

export type Price = (vendor: string, model: string, usage: Usage) => Promise<number | null>;

/** A request that has not ended. */
export type LedgerEntry = {
  endpoint: Endpoint;
  route: GatewayRoute;
  model: string | null;
  /** Size of the request's body. */
  bytes: number;
  /** The most output tokens that the request allows; null if it sets no limit. */
  outputLimit: number | null;
  /** Times the listed price that the request may cost. */
  priceFactor: number;
  /** Interrupts the request. */
  stop: AbortController;
  /** True from the moment the vendor may have received the request. */
  isSent: boolean;
  status: number | null;
  /** Null for a request that costs nothing, and for one without a successful answer. */
  meter: Meter | null;
  /** Releases the budget that was reserved for the request; null before a reservation. */
  settle: SettleReservation | null;
};

export class Ledger {
  readonly records: MeteredRequest[] = [];
  spent: Spent = zeroSpent;
  readonly #price: Price;
  readonly #open = new Map<LedgerEntry, PromiseWithResolvers<void>>();
  /** The open requests that are being recorded. */
  readonly #ending = new Set<LedgerEntry>();

  constructor(price: Price) {
    this.#price = price;
  }

  begin(request: Pick<LedgerEntry, "endpoint" | "route" | "model" | "bytes" | "outputLimit" | "priceFactor">): LedgerEntry {
    const entry: LedgerEntry = { ...request, stop: new AbortController(), isSent: false, status: null, meter: null, settle: null };
    this.#open.set(entry, Promise.withResolvers());
    return entry;
  }

  /** Only the first call counts: an interrupted answer may also fail afterwards. */
  async end(entry: LedgerEntry, error: TurnError | null): Promise<void> {
    const ended = this.#open.get(entry);
    if (ended === undefined || this.#ending.has(entry)) return ended?.promise;
    this.#ending.add(entry);
    const { route, model, status } = entry;
    const usage = usageOf(entry);
    const spent = { usage, costUsd: await this.#cost(entry, usage) };
    this.records.push({ wire: route.wire, kind: route.kind, model, status, error, ...spent });
    this.spent = addSpent(this.spent, spent);
    entry.settle?.(spent);
    this.#open.delete(entry);
    this.#ending.delete(entry);
    ended.resolve();
  }

  /** Interrupts every open request. Resolves when they are recorded. */
  async interruptAll(): Promise<void> {
    for (const { stop } of this.#open.keys()) stop.abort();
    await Promise.all([...this.#open.values()].map(({ promise }) => promise));
  }

  async #cost({ endpoint, model, priceFactor }: LedgerEntry, usage: Usage): Promise<number | null> {
    if (Object.values(usage).every((count) => count === 0)) return 0;
    // Without a price the tokens still count.
    const price = model === null ? null : await this.#price(endpoint.vendor, model, usage).catch(() => null);
    return price === null ? null : price * priceFactor;
  }
}

/** A client that disconnects before the answer has started still made the vendor read its request. */
function usageOf({ meter, route, stop, isSent, status, bytes }: LedgerEntry): Usage {
  if (meter !== null) return meter.countedUsage(bytes);
  const isCancelled = route.kind === "answer" && isSent && status === null && stop.signal.aborted;
  return isCancelled ? { ...zeroUsage, input: tokensIn(bytes) } : zeroUsage;
}
