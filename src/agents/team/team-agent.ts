// The agent behind `skein team`: runs members in sub-sessions with their own workspaces and records their events as nodes.
// These nodes are the team's only state, so that the team can continue after any interruption.
import { Fault } from "../../protocol/api/error.ts";
import type { EnforcedPolicy, Policy } from "../../protocol/api/policy.ts";
import type { Agent } from "../../protocol/api/ports.ts";
import { noPreview } from "../no-preview.ts";
import type { TeamDeps } from "./run/team-run.ts";

export type TeamAgentDeps = TeamDeps & {
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
  /** Throws for an unknown agent. */
  requireAgent: (name: string, model: string | null) => void;
};

/** Loads its code with the first team, to keep startup fast. */
export function teamAgent(deps: TeamAgentDeps): Agent {
  return {
    name: "team",
    takesTasks: false,
    check: async ({ team, project }) => {
      if (team === null) throw new Fault("usage", "the agent team takes no task", { hint: 'skein team run "objective"' });
      if (team.work !== "run") return;
      (await import("./run/team-turn.ts")).checkTeamRequest(team.wish, await deps.roles(project));
      const { phases, cast, planner } = team.wish;
      const members = (phases ?? []).flatMap((phase) => phase.members);
      for (const { agent, model } of [planner, ...members, ...cast.map((member) => ({ ...member, model: null }))])
        if (agent !== null) deps.requireAgent(agent, model);
    },
    preview: noPreview,
    async *takeTurn(input, context) {
      yield* (await import("./run/team-turn.ts")).takeTeamTurn(deps, input, context);
    },
    enforced: deps.enforced,
  };
}
