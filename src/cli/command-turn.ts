// A turn that runs a command for a person: everything that only matters to a model is off.
import type { TurnStart } from "../protocol/api.ts";
import type { Policy } from "../protocol/policy.ts";
import { plainTurn } from "../protocol/turn-start.ts";

export function commandTurn(session: string, command: string, policy: Policy): TurnStart {
  return { ...plainTurn(session, policy), command };
}
