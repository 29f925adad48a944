// group_think: several models and agents discuss an objective, write one deliverable and validate it.
import { objectiveText, type GroupTask } from "../../protocol/team/group.ts";
import { configuredTurn } from "../../protocol/api/turn-options.ts";
import { resolveContextPaths, type ContextPath } from "../turn/context-paths.ts";
import { finishedGroup, groupAnswer } from "../turn/group-answer.ts";
import { selectFiles, sendFiles } from "../turn/send-files.ts";
import { findSession, takeTurn } from "../turn/take-turn.ts";
import { tool, type ToolInput } from "./tool.ts";

const defaults = { discussionRounds: 6, validationRounds: 2, parallelLimit: 4 };

export const groupThink = tool("group_think", {
  description:
    "Several models or agents discuss an objective and write one deliverable; dissent is kept. Call it again to continue after an interruption.",
  async run(input, ctx) {
    const files = selectFiles(resolveContextPaths(input.context, ctx));
    const agents = (await ctx.api.agents.list()).map(({ name }) => name);
    const group = groupTaskOf(input, [...files.sent, ...files.listed]);
    const objective = objectiveText(group);
    const session = await findSession(ctx.api, input.session_id, ctx.directory);
    const finished = session === null ? null : await finishedGroup(session, objective, ctx);
    if (finished !== null) return finished;
    const { limits } = configuredTurn(await ctx.api.config.values());
    const { max_cost_usd: maxBudgetUsd = limits.maxBudgetUsd } = input;
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

function groupTaskOf(input: Input, files: ContextPath[]): GroupTask {
  return {
    objective: input.objective,
    outputFormat: input.output_format,
    userInput: input.user_input ?? null,
    context: files.map(({ path }) => path),
    participants: input.models,
    discussionRounds: input.discussion_turns ?? defaults.discussionRounds,
    validationRounds: input.validation_rounds ?? defaults.validationRounds,
    synthesizer: input.synthesis_model ?? null,
    parallelLimit: defaults.parallelLimit,
  };
}
