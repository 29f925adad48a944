// The configuration as front ends use it.
export type { Settings } from "../schema/setup.ts";

/** Ways to notify a user who does not look at the terminal. */
export const notifyModes = ["auto", "bell", "osc", "off"] as const;
