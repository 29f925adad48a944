// The configuration as front ends use it.
export type { Settings } from "../schema/setup.ts";

/** Sets of keys of the screen: without modes, or modal like vi. */
export const keyPresets = ["plain", "vi"] as const;
export type KeyPreset = (typeof keyPresets)[number];

/** Ways to notify a user who does not look at the terminal. */
export const notifyModes = ["auto", "bell", "osc", "off"] as const;
