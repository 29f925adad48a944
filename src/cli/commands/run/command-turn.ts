// The turn of a shell command. Every option that only matters to a model is off.
import type { TurnStartParams } from "../../../protocol/api/api.ts";
import type { Policy } from "../../../protocol/api/policy.ts";
import { bareTurn } from "../../../protocol/api/turn-options.ts";

export function commandTurn(session: string, command: string, policy: Policy): TurnStartParams {
  return { ...bareTurn(session, policy), command };
}
