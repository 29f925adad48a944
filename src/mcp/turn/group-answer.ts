// Adds the result of a group to an answer as data: dissent, participants, rounds and cost. It is read from the session's
// nodes, so that a later call returns the same.
import { readGroup, lastStatements, groupOutcome, type GroupOutcome, type Statement } from "../../protocol/team/group.ts";
import { textOf, type Node } from "../../protocol/tree/node.ts";
import { costRecord, type CostJson } from "../../protocol/json/records.ts";
import { sessionIdentifier, type Session } from "../../protocol/tree/turn.ts";
import { shortenAnswer } from "./turn-answer.ts";
import type { ToolAnswer, CallContext } from "../tools/tool.ts";
import type { TurnOutput } from "./turn-answer.ts";

type GroupData = Pick<GroupOutcome, "dissent" | "participants" | "rounds"> & CostJson;
/** Has the deliverable instead of the answer, which repeats the other fields as text. A long deliverable is shortened. */
type GroupOutput = Omit<TurnOutput, "answer" | "cost_usd"> & GroupData & { deliverable?: string };

/** Adds the data if a group took the turn; returns any other answer unchanged. */
export async function withGroupData(answer: ToolAnswer<TurnOutput>, ctx: CallContext): Promise<ToolAnswer<Omit<TurnOutput, "cost_usd">>> {
  if (answer.output.agent !== "group") return answer;
  const path = await pathOf(answer.output.session_id, ctx);
  return { ...answer, output: { ...answer.output, ...groupData(lastStatements(path)) } };
}

export async function groupAnswer(
  { output, ...answer }: ToolAnswer<TurnOutput>,
  objective: string,
  ctx: CallContext,
): Promise<ToolAnswer<GroupOutput>> {
  const { answer: text, ...fields } = output;
  const { statements } = readGroup(await pathOf(output.session_id, ctx), objective);
  const { deliverable } = groupOutcome(statements);
  const deliverableField = deliverable === null ? {} : { deliverable: output.answer_file === undefined ? deliverable : (text ?? "") };
  return { ...answer, output: { ...fields, ...groupData(statements), ...deliverableField } };
}

/** The answer of a group that has already finished this objective; null if there is none. */
export async function finishedGroup(session: Session, objective: string, { api }: CallContext): Promise<ToolAnswer<GroupOutput> | null> {
  const { statements, answer } = readGroup(session.tip === null ? [] : await api.node.path({ node: session.tip }), objective);
  if (answer === null) return null;
  const { text, file } = await shortenAnswer(textOf(answer), session, { id: answer.turn ?? answer.id });
  const deliverable = file === null ? (groupOutcome(statements).deliverable ?? "") : text;
  const fileField = file === null ? {} : { answer_file: file };
  return { output: { status: "ok", session_id: sessionIdentifier(session), deliverable, ...fileField, ...groupData(statements) }, text };
}

function groupData(statements: Statement[]): GroupData {
  const { dissent, participants, rounds, ...outcome } = groupOutcome(statements);
  return { dissent, participants, rounds, ...costRecord(outcome) };
}

async function pathOf(sessionId: string, { api, directory }: CallContext): Promise<Node[]> {
  const { tip } = await api.session.find({ wanted: sessionId, directory });
  return tip === null ? [] : api.node.path({ node: tip });
}
