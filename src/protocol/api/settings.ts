// The configuration as front ends use it.
export type { Settings } from "../schema/setup.ts";

/** How a user who looks elsewhere is notified. */
export const notifyModes = ["auto", "bell", "osc", "off"] as const;
