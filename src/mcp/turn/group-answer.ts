// What a group's work has come to, as data: who disagrees, who could not be heard, what all of it cost. Read from the
// session, so that whoever collects it later gets the same.
import { readGroup, lastStatements, groupOutcome, type GroupOutcome, type Statement } from "../../protocol/team/group.ts";
import { textOf, type Node } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { boundAnswer } from "./long-answer.ts";
import { sessionIdentifier } from "./session-identifier.ts";
import type { ToolAnswer, CallContext } from "../tools/tool.ts";
import type { TurnOutput } from "./turn-answer.ts";

type GroupData = Pick<GroupOutcome, "dissent" | "participants" | "rounds"> & { cost_usd: number | null };
/** The deliverable stands in place of the answer, which says the rest of this in words; one that is too long is shortened. */
type GroupOutput = Omit<TurnOutput, "answer" | "cost_usd"> & GroupData & { deliverable?: string };

/** A turn that a group took, as whoever collects it is told; any other stays as it is. */
export async function withGroupData(answer: ToolAnswer<TurnOutput>, ctx: CallContext): Promise<ToolAnswer<Omit<TurnOutput, "cost_usd">>> {
  if (answer.output.agent !== "group") return answer;
  const path = await pathOf(answer.output.session_id, ctx);
  return { ...answer, output: { ...answer.output, ...dataOf(lastStatements(path)) } };
}

/** A turn of the group that works on this objective. */
export async function groupAnswer(
  { output, ...rest }: ToolAnswer<TurnOutput>,
  objective: string,
  ctx: CallContext,
): Promise<ToolAnswer<GroupOutput>> {
  const { answer: words, ...told } = output;
  const { statements: said } = readGroup(await pathOf(output.session_id, ctx), objective);
  const { deliverable } = groupOutcome(said);
  const written = deliverable === null ? {} : { deliverable: output.answer_file === undefined ? deliverable : (words ?? "") };
  return { ...rest, output: { ...told, ...dataOf(said), ...written } };
}

/** What was finished before, as it was; null when it was not. */
export async function finishedGroup(session: Session, objective: string, { api }: CallContext): Promise<ToolAnswer<GroupOutput> | null> {
  const { statements: said, answer } = readGroup(session.tip === null ? [] : await api.node.path({ node: session.tip }), objective);
  if (answer === null) return null;
  const { text, file } = await boundAnswer(textOf(answer), session, { id: answer.turn ?? answer.id });
  const deliverable = file === null ? (groupOutcome(said).deliverable ?? "") : text;
  const whole = file === null ? {} : { answer_file: file };
  return { output: { status: "ok", session_id: sessionIdentifier(session), deliverable, ...whole, ...dataOf(said) }, text };
}

function dataOf(said: Statement[]): GroupData {
  const { dissent, participants, rounds, costUsd } = groupOutcome(said);
  return { dissent, participants, rounds, cost_usd: costUsd };
}

async function pathOf(sessionId: string, { api, directory }: CallContext): Promise<Node[]> {
  const { tip } = await api.session.find({ wanted: sessionId, directory });
  return tip === null ? [] : api.node.path({ node: tip });
}
