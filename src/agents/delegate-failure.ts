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

/** The limit that a sub-session reached at its start, or the Fault by its code. Any other error is `broken`. */
export function toTurnError(error: unknown): TurnError {
  const cause = (error instanceof Fault ? error.cause : null) as TurnError | null | undefined;
  if (cause && turnStatuses.includes(cause.kind)) return cause;
  const { code, hint } = error instanceof Fault ? error : { code: "", hint: undefined };
  return { kind: turnStatuses.find((status) => status === code) ?? "broken", message: messageOf(error), hint };
}
