// group_think: several models and agents discuss an objective, write one deliverable and validate it.
import { objectiveText, type GroupTask } from "../../protocol/team/group.ts";
import { configuredTurn } from "../../protocol/api/turn-options.ts";
import { resolveContextPaths, type ContextPath } from "../turn/context-paths.ts";
import { finishedGroup, groupAnswer } from "../turn/group-answer.ts";
import { selectFiles, sendFiles, type FilesToSend } from "../turn/send-files.ts";
import { findSession, takeTurn } from "../turn/take-turn.ts";
import { tool, type CallContext, type ToolInput } from "./tool.ts";

const defaults = { discussionRounds: 6, validationRounds: 2, parallelLimit: 4 };

export const groupThink = tool("group_think", {
  description:
    "Several models or agents discuss an objective and write one deliverable; dissent is kept. Call it again to continue after an interruption.",
  async run(input, ctx) {
    const files = filesOf(input, ctx);
    const agents = (await ctx.api.agents.list()).map(({ name }) => name);
    const group = groupTaskOf(input, [...files.sent, ...files.listed]);
    const objective = objectiveText(group);
    const session = await findSession(ctx.api, input.session_id, ctx.directory);
    const finished = session === null ? null : await finishedGroup(session, objective, ctx);
    if (finished !== null) return finished;
    const { limits } = configuredTurn(await ctx.api.config.values());
    const maxBudgetUsd = input.max_cost_usd ?? input.config?.cost_limit_usd ?? limits.maxBudgetUsd;
    const answer = await takeTurn(
      {
        sessionId: input.session_id,
        prompt: input.objective,
        // The agent of a new session, for later turns: the first participant that is an agent, else the project's model.
        agent: group.participants.find((name) => agents.includes(name)),
        turn: { group, steerable: false, limits: { ...limits, maxBudgetUsd } },
        prepare: (opened) => sendFiles(ctx.api, opened, files),
      },
      ctx,
    );
    return groupAnswer(answer, objective, ctx);
  },
});

type Input = ToolInput<"group_think">;

/** Files of `priority_context` come first. Without `direct_context` the participants get only the paths. */
function filesOf({ context, priority_context, direct_context }: Input, ctx: CallContext): FilesToSend {
  const paths = resolveContextPaths([...(priority_context ?? []), ...(context ?? [])], ctx);
  return direct_context === false ? { sent: [], listed: paths } : selectFiles(paths);
}

/** The synthesis is one of the steps, so that at least one round of discussion and the synthesis remain. */
function roundsOf({ discussion_turns, validation_rounds, max_steps = Infinity }: Input) {
  const discussionRounds = Math.min(discussion_turns ?? defaults.discussionRounds, max_steps - 1);
  const validationRounds = Math.min(validation_rounds ?? defaults.validationRounds, max_steps - 1 - discussionRounds);
  return { discussionRounds, validationRounds };
}

function groupTaskOf(input: Input, files: ContextPath[]): GroupTask {
  return {
    objective: input.objective,
    outputFormat: input.output_format,
    userInput: input.user_input ?? null,
    context: files.map(({ path }) => path),
    participants: input.models,
    ...roundsOf(input),
    synthesizer: input.synthesis_model ?? null,
    parallelLimit: input.config?.parallel_limit ?? defaults.parallelLimit,
    stepTimeoutMs: input.config?.timeout_per_step === undefined ? null : Math.ceil(input.config.timeout_per_step * 1_000),
  };
}
