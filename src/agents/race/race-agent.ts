// The agent behind `skein race`: gives the same task to several agents in sub-sessions, each in its own worktree, and
// records their ends as nodes. These nodes are the race's only state, so that it can continue after any interruption.
import { Fault } from "../../protocol/api/error.ts";
import type { EnforcedPolicy, Policy } from "../../protocol/api/policy.ts";
import type { Agent } from "../../protocol/api/ports.ts";
import { noPreview } from "../no-preview.ts";

export type RaceAgentDeps = {
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
  /** Throws for an unknown agent, and for a model that the agent can't use. */
  requireAgent: (name: string, model: string | null) => void;
};

/** Loads its code with the first race, to keep startup fast. */
export function raceAgent(deps: RaceAgentDeps): Agent {
  return {
    name: "race",
    takesTasks: false,
    check: async ({ race }) => {
      if (race === null) throw new Fault("usage", "the agent race takes no task", { hint: 'skein race "task" -a claude,codex' });
      if (race.work !== "run") return;
      if (race.wish.task.trim() === "") throw new Fault("usage", "the task is empty");
      if (race.wish.adoptFirstPassing && race.wish.check === null)
        throw new Fault("usage", "adopting the first passing agent needs a check", { hint: '--check "npm test"' });
      for (const { agent, model } of race.wish.contestants) deps.requireAgent(agent, model);
    },
    preview: noPreview,
    async *takeTurn(input, context) {
      yield* (await import("./race-turn.ts")).takeRaceTurn(input, context);
    },
    enforced: deps.enforced,
  };
}
