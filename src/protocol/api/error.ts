// Errors, in two families: the status of a turn (a value), and Fault (the one error class).
import type { TurnError } from "../schema/tree.ts";

export const turnStatuses = [
  "ok",
  "refused",
  "auth",
  "rate-limited",
  "overloaded",
  "network",
  "too-long",
  "stalled",
  "timed-out",
  "killed",
  "cancelled",
  "budget",
  "needs-input",
  "not-installed",
  "sandbox-unavailable",
  "broken",
] as const;

export type TurnStatus = (typeof turnStatuses)[number];

export type { TurnError };

const limitFlags: Record<NonNullable<TurnError["limit"]>, string> = {
  money: "--max-budget-usd",
  tokens: "--max-tokens",
  steps: "--max-steps",
  children: "--max-children",
};

export function budgetUsedUp(limit: NonNullable<TurnError["limit"]>, used: string): TurnError {
  return {
    kind: "budget",
    limit,
    message: `the budget is used up: ${used}`,
    hint: `raise ${limitFlags[limit]} and continue with --resume`,
  };
}

/** Exit codes by the status of the turn; `usage` and `config` are faults before a turn. */
export const exitCodes: Record<TurnStatus | "usage" | "config", number> = {
  ok: 0,
  refused: 1,
  "too-long": 1,
  broken: 1,
  killed: 1,
  usage: 2,
  config: 3,
  "not-installed": 3,
  auth: 4,
  "rate-limited": 5,
  overloaded: 5,
  network: 6,
  budget: 7,
  "needs-input": 8,
  "sandbox-unavailable": 9,
  "timed-out": 124,
  stalled: 124,
  cancelled: 130,
};

/** A code `noun-problem` is for programs; the message is for the user. */
export type FaultCode =
  | "usage"
  | "config"
  | "auth"
  | "too-long"
  | "network"
  | "sandbox-unavailable"
  | "not-installed"
  | "model-api-only"
  | "session-unknown"
  | "session-ambiguous"
  | "session-busy"
  | "session-exists"
  | "lease-lost"
  | "node-unknown"
  | "ask-unknown"
  | "ask-closed"
  | "owner-unreachable"
  | "connection-lost"
  | "protocol-mismatch"
  | "hub-unreachable"
  | "store-broken"
  | "store-newer"
  | "store-full"
  | "store-busy"
  | "file-unreadable"
  | "file-unwritable"
  | "executor-gone"
  | "internal";

export class Fault extends Error {
  /** Compares names: the npm bundle has two copies of this class, in main.js and tui.js, which must accept each other's faults. */
  static override [Symbol.hasInstance](value: unknown): value is Fault {
    return value instanceof Error && value.name === "Fault";
  }

  readonly code: FaultCode;
  readonly hint: string | undefined;

  constructor(code: FaultCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Fault";
    this.code = code;
    this.hint = options.hint;
  }
}

const faultExits: Partial<Record<FaultCode, number>> = {
  usage: 2,
  config: 3,
  "not-installed": 3,
  auth: 4,
  network: 6,
  "sandbox-unavailable": 9,
  "model-api-only": 2,
  "session-unknown": 2,
  "session-ambiguous": 2,
  "session-exists": 2,
  "node-unknown": 2,
  "ask-unknown": 2,
  "ask-closed": 2,
};

export function exitCodeOf(error: unknown): number {
  return (error instanceof Fault && faultExits[error.code]) || 1;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
