// The agent behind group_think: asks several participants in sub-sessions and records their statements as nodes. These nodes
// are the group's only state, so that a group can continue after any interruption.
import { Fault } from "../../protocol/api/error.ts";
import type { EnforcedPolicy, Policy } from "../../protocol/api/policy.ts";
import type { Agent } from "../../protocol/api/ports.ts";
import { noPreview } from "../no-preview.ts";
import { streamTurn } from "../stream-turn.ts";
import type { KnownNames } from "./participants.ts";

export type GroupAgentDeps = {
  knownNames: () => KnownNames;
  /** Delay before a participant that failed is asked again. */
  retryAfterMs: number;
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
};

/** Loads its code with the first group, to keep startup fast. */
export function groupAgent(deps: GroupAgentDeps): Agent {
  return {
    name: "group",
    takesTasks: false,
    check: async ({ group }) => {
      if (group === null)
        throw new Fault("usage", "the agent group takes no task", {
          hint: "use the MCP tool group_think, with an objective and participants",
        });
      (await import("./group-turn.ts")).checkGroup(group, deps);
    },
    preview: noPreview,
    takeTurn: (input, context) => streamTurn(async (emit) => (await import("./group-turn.ts")).takeGroupTurn(deps, input, context, emit)),
    enforced: deps.enforced,
  };
}
