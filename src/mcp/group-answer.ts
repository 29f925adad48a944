// What a group's turn has come to, as data: who disagrees, who could not be heard, what all of it cost. Read from the
// session, so that whoever collects it later gets the same.
import { lastGroup, outcomeOf, type GroupOutcome } from "../protocol/group.ts";
import type { Answer, Place } from "./tool.ts";
import type { TurnOutput } from "./turn-answer.ts";

export type GroupOutput = Omit<TurnOutput, "cost_usd"> &
  Partial<Pick<GroupOutcome, "dissent" | "participants" | "rounds">> & { cost_usd?: number | null };

/** Other turns are told as they are. */
export async function withGroup(answer: Answer<TurnOutput>, place: Place): Promise<Answer<GroupOutput>> {
  if (answer.output.agent !== "group") return answer;
  const { dissent, participants, rounds, costUsd } = await outcomeIn(answer.output.session_id, place);
  return { ...answer, output: { ...answer.output, dissent, participants, rounds, cost_usd: costUsd } };
}

/** The deliverable stands in place of the answer, which says the rest of this in words; one that is too long is shortened. */
export async function withDeliverable(answer: Answer<TurnOutput>, place: Place): Promise<Answer<Omit<GroupOutput, "answer">>> {
  const { output, ...rest } = await withGroup(answer, place);
  const { answer: words, ...told } = output;
  const { deliverable } = await outcomeIn(output.session_id, place);
  const shown = output.answer_file === undefined ? deliverable : words;
  return { ...rest, output: { ...told, ...(deliverable === null ? {} : { deliverable: shown }) } };
}

async function outcomeIn(sessionId: string, { api, directory }: Place): Promise<GroupOutcome> {
  const { tip } = await api.session.find({ wanted: sessionId, directory });
  return outcomeOf(tip === null ? [] : lastGroup(await api.node.path({ node: tip })));
}
