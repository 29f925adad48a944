// Failures of a delegated turn, for agents that run others in sub-sessions.
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

/** The error of a sub-session that could not start: the limit that was reached, or the Fault by its code. */
export function toTurnError(error: unknown): TurnError {
  const cause = (error instanceof Fault ? error.cause : null) as TurnError | null | undefined;
  if (cause && turnStatuses.includes(cause.kind)) return cause;
  const kind = turnStatuses.find((status) => error instanceof Fault && status === error.code) ?? "broken";
  return { kind, message: messageOf(error) };
}
