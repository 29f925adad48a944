// Types of running turns and of questions, and the version of the protocol.
export type { Health, PauseReport, TurnInfo } from "../schema/results.ts";
export type { Ask, CallerTrust, PendingTurn, QueuedInput, TurnState } from "../schema/tree.ts";

/** Raised if a method changes its meaning. Methods and fields are only ever added. */
export const protocolVersion = 1;
