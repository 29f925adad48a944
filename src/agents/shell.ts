// The agent behind `skein exec`: runs one command in the executor, without a model. Its code is loaded with the first command.
import { Fault } from "../protocol/api/error.ts";
import type { EnforcedPolicy, Policy } from "../protocol/api/policy.ts";
import type { Agent, Executor, TurnInput } from "../protocol/api/ports.ts";
import { noPreview } from "./no-preview.ts";
import { streamTurn } from "./stream-turn.ts";

export type ShellAgentDeps = {
  executor: (turn: TurnInput) => Executor;
  toolEnv: Record<string, string>;
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
};

export function shellAgent(deps: ShellAgentDeps): Agent {
  return {
    name: "shell",
    takesTasks: false,
    check: async () => {
      throw new Fault("usage", "the agent shell takes no task", { hint: 'use skein exec <session> "command"' });
    },
    preview: noPreview,
    takeTurn: (input, context) => streamTurn(async (emit) => (await import("./shell-turn.ts")).runCommand(deps, { input, context, emit })),
    enforced: deps.enforced,
  };
}
