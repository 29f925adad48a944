// Errors that agents throw, as errors of a turn.
import { Fault, messageOf, turnStatuses, type TurnError, type TurnStatus } from "../protocol/api/error.ts";

/** Statuses that a retry can't change. */
export const permanentStatuses: readonly TurnStatus[] = [
  "auth",
  "not-installed",
  "sandbox-unavailable",
  "needs-input",
  "too-long",
  "cancelled",
  "budget",
];

/**
 * Converts a thrown error. A Fault whose cause is a TurnError becomes that error: a sub-session reached a limit at its
 * start. Another Fault gets the status of its code. Any other error is `broken`.
 */
export function toTurnError(error: unknown): TurnError {
  const cause = (error instanceof Fault ? error.cause : null) as TurnError | null | undefined;
  if (cause && turnStatuses.includes(cause.kind)) return cause;
  const { code, hint } = error instanceof Fault ? error : { code: "", hint: undefined };
  return { kind: turnStatuses.find((status) => status === code) ?? "broken", message: messageOf(error), hint };
}
