// Limits the requests per minute to a vendor. All turns of this process share the limit.
import { systemClock, type Clock } from "../kit/flow/clock.ts";

export type RequestRate = {
  perMinute: number;
  /** Reserves the next free moment for a request. Returns the milliseconds until then. */
  reserve: () => number;
};

/** Returns the limit of a vendor; null if the configuration has none. */
export type RequestRates = (vendor: string, perMinute: number | undefined) => RequestRate | null;

const minuteMs = 60_000;

export function createRequestRates(clock: Pick<Clock, "now"> = systemClock): RequestRates {
  const momentsByVendor = new Map<string, number[]>();
  return (vendor, perMinute) => {
    if (perMinute === undefined) return null;
    const moments = momentsByVendor.get(vendor) ?? [];
    momentsByVendor.set(vendor, moments);
    return {
      perMinute,
      reserve() {
        const now = clock.now();
        // Any window of one minute has at most `perMinute` of the reserved moments.
        const moment = Math.max(now, (moments.at(-perMinute) ?? -minuteMs) + minuteMs);
        moments.push(moment);
        moments.splice(0, moments.length - perMinute);
        return moment - now;
      },
    };
  };
}
