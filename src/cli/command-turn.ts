// A turn that runs a command for a person: everything that only matters to a model is off.
import type { TurnStartParams } from "../protocol/api.ts";
import type { Policy } from "../protocol/policy.ts";
import { bareTurn } from "../protocol/turn-start.ts";

export function commandTurn(session: string, command: string, policy: Policy): TurnStartParams {
  return { ...bareTurn(session, policy), command };
}
