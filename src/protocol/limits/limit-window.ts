// One limit of a vendor over a time: requests of a minute, tokens of a day, use of a subscription in 5 hours.
export type { KnownLimit } from "../schema/setup.ts";

export type LimitWindow = {
  /** `requests`, `tokens`, `5h`, `7d`, ... */
  name: string;
  /** Used part, from 0 to 1; null if unknown. */
  used: number | null;
  limit: number | null;
  remaining: number | null;
  /** The end of the window, in milliseconds since 1970; null if unknown. */
  resetAt: number | null;
  /** True if the vendor refuses requests until the end of the window. */
  isUsedUp: boolean;
};
