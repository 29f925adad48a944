// Errors, in two families: the status of a turn (a value), and Fault (the one error class).
import type { TurnError } from "../schema/tree.ts";
import { shortId } from "../tree/node.ts";

/** The statuses of a turn, and the exit code of each. */
export const exitCodes = {
  ok: 0,
  refused: 1,
  auth: 4,
  "rate-limited": 5,
  overloaded: 5,
  network: 6,
  "too-long": 1,
  stalled: 124,
  "timed-out": 124,
  killed: 1,
  cancelled: 130,
  budget: 7,
  "needs-input": 8,
  "not-installed": 3,
  "sandbox-unavailable": 9,
  "check-failed": 10,
  broken: 1,
};

export type TurnStatus = keyof typeof exitCodes;
export const turnStatuses = Object.keys(exitCodes) as TurnStatus[];

export type { TurnError };

const limitFlags: Record<NonNullable<TurnError["limit"]>, string> = {
  money: "--max-budget-usd",
  tokens: "--max-tokens",
  steps: "--max-steps",
  children: "--max-children",
};

/** Continues the project's latest interrupted turn. `withResumeHint` adds the session. */
export const resumeCommand = "skein run --resume";

/** The error with the whole command to continue, if its hint has the command. */
export function withResumeHint(error: TurnError, session: string): TurnError {
  if (error.hint === undefined) return error;
  return { ...error, hint: error.hint.replace(`\`${resumeCommand}\``, `\`${resumeCommand} ${shortId(session)}\``) };
}

export function budgetUsedUp(limit: NonNullable<TurnError["limit"]>, used: string): TurnError {
  return {
    kind: "budget",
    limit,
    message: `the budget is used up: ${used}`,
    hint: `raise ${limitFlags[limit]} and continue with \`${resumeCommand}\``,
  };
}

/** The codes of faults, and the exit code of each. A code `noun-problem` is for programs; the message is for the user. */
export const faultExitCodes = {
  usage: 2,
  config: 3,
  auth: 4,
  "too-long": 1,
  network: 6,
  "sandbox-unavailable": 9,
  "not-installed": 3,
  "model-api-only": 2,
  "session-unknown": 2,
  "session-ambiguous": 2,
  "session-busy": 1,
  "session-exists": 2,
  "session-archived": 2,
  "lease-lost": 1,
  "node-unknown": 2,
  "ask-unknown": 2,
  "ask-closed": 2,
  "pending-unknown": 2,
  "owner-unreachable": 1,
  "connection-lost": 1,
  "protocol-mismatch": 1,
  "hub-unreachable": 1,
  "store-broken": 1,
  "store-newer": 1,
  "store-full": 1,
  "store-busy": 1,
  "fleet-unreachable": 6,
  "fleet-insecure": 3,
  "fleet-missing": 3,
  "fleet-newer": 3,
  "fleet-readonly": 1,
  "file-unreadable": 1,
  "file-unwritable": 1,
  "executor-gone": 1,
  internal: 1,
};

export type FaultCode = keyof typeof faultExitCodes;

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

/** Exits with 1 for an error that is no fault, and for a fault of a later version with an unknown code. */
export function exitCodeOf(error: unknown): number {
  return error instanceof Fault ? (faultExitCodes[error.code] ?? 1) : 1;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
