// The hint of a turn that ended at a vendor's limit: when the limit ends, and what the other choices would do.
import { clockTime } from "./clock-time.ts";
import type { TurnError } from "../api/error.ts";
import { isLimitError, type AtLimit } from "./at-limit.ts";

/** `none`: the turn waits, or another turn decides. */
type Choice = AtLimit | { how: "none" };

function choicesText(atLimit: Choice): string[] {
  if (atLimit.how === "stop") return ["--at-limit wait continues then, --at-limit <agent> lets another agent continue now"];
  if (atLimit.how === "wait") return ["--wait-at-most allows no longer wait"];
  return atLimit.how === "agents" && atLimit.agents.length === 0 ? ["no other agent of --at-limit is left"] : [];
}

/** The error with the end of the limit and the other choices in its hint. Other errors stay as they are. */
export function withLimitHint(error: TurnError, atLimit: Choice, now: number): TurnError {
  if (!isLimitError(error)) return error;
  const ends = error.resetAt === undefined || error.resetAt <= now ? [] : [`the limit ends at ${clockTime(error.resetAt, now)}`];
  const choices = choicesText(atLimit);
  const hint = [...(error.hint === undefined ? [] : [error.hint]), ...ends, ...choices].join("; ");
  return hint === "" ? error : { ...error, hint };
}
