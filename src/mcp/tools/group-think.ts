// group_think: one objective for several models and agents, who discuss it, write one deliverable and judge that.
import { Fault } from "../../protocol/api/error.ts";
import { objectiveText, type GroupTask } from "../../protocol/team/group.ts";
import { groupThinkInput, groupThinkOutput } from "../../protocol/schema/mcp.ts";
import { configuredTurn } from "../../protocol/api/turn-start.ts";
import { resolveContextPaths, type ContextPath } from "../turn/context-paths.ts";
import { finishedGroup, groupAnswer } from "../turn/group-answer.ts";
import { resolveModel } from "../turn/resolve-model.ts";
import { selectFiles, sendFiles } from "../turn/send-files.ts";
import { findSession, takeTurn } from "../turn/take-turn.ts";
import { tool, type CallContext } from "./tool.ts";

const usual = { discussionRounds: 6, validationRounds: 2, parallelLimit: 4 };

export const groupThink = tool({
  name: "group_think",
  description:
    "Several models or agents discuss an objective and write one deliverable; dissent is kept. Call it again to go on after an interruption.",
  input: groupThinkInput,
  output: groupThinkOutput,
  async run(input, place) {
    const files = selectFiles(resolveContextPaths(input.context, place));
    const agents = (await place.api.agents.list()).map(({ name }) => name);
    const group = await groupOf(input, [...files.whole, ...files.named], agents, place);
    const objective = objectiveText(group);
    const known = await findSession(place.api, input.session_id, place.directory);
    const finished = known === null ? null : await finishedGroup(known, objective, place);
    if (finished !== null) return finished;
    const { limits } = configuredTurn(await place.api.config.values());
    const { max_cost_usd: maxBudgetUsd = limits.maxBudgetUsd } = input;
    const answer = await takeTurn(
      {
        sessionId: input.session_id,
        prompt: input.objective,
        // Whom a new session belongs to afterwards: an agent that takes part, else the project's model.
        agent: group.participants.find((name) => agents.includes(name)) ?? "native",
        model: null,
        turn: { group, steerable: false, limits: { ...limits, maxBudgetUsd } },
        prepare: (session) => sendFiles(place.api, session, files),
      },
      place,
    );
    return groupAnswer(answer, objective, place);
  },
});

type Input = ReturnType<typeof groupThinkInput.parse>;

async function groupOf(input: Input, files: ContextPath[], agents: string[], ctx: CallContext): Promise<GroupTask> {
  const meant = (name: string) => participantMeant(name, agents, ctx);
  return {
    objective: input.objective,
    outputFormat: input.output_format,
    userInput: input.user_input ?? null,
    context: files.map(({ path }) => path),
    participants: await Promise.all(input.models.map(meant)),
    discussionRounds: input.discussion_turns ?? usual.discussionRounds,
    validationRounds: input.validation_rounds ?? usual.validationRounds,
    synthesizer: input.synthesis_model === undefined ? null : await meant(input.synthesis_model),
    parallelLimit: usual.parallelLimit,
  };
}

/** Agents by their names, models also by what they are called from memory. */
async function participantMeant(name: string, agents: string[], { api }: CallContext): Promise<string> {
  if (agents.includes(name)) return name;
  try {
    return await resolveModel(api, name);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault(error.code, error.message, { hint: `${error.hint ?? ""}; the agents are ${agents.join(", ")}`, cause: error });
  }
}
