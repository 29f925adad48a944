// Renders a turn as the answer of a call: the agent's answer unchanged, or the turn's state and the next step. The only file that
// shortens an answer.
import { formatDuration } from "../../kit/text/duration.ts";
import type { Ask } from "../../protocol/api/control.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import type { FollowResult } from "./follow-turn.ts";
import { boundAnswer } from "./long-answer.ts";
import { sessionIdentifier } from "./session-identifier.ts";
import type { ToolAnswer } from "../tools/tool.ts";

/** Like the schema `turnOutput`; optional fields are left out if there is no value. */
export type TurnOutput = {
  status: string;
  session_id: string;
  turn_id?: string;
  seq?: number;
  answer?: string;
  answer_file?: string;
  next?: string;
  agent?: string;
  model?: string;
  cost_usd?: number;
  questions?: { question: string; options: string[] }[];
  error?: string;
  warnings?: string[];
};

export async function turnAnswer(followed: FollowResult): Promise<ToolAnswer<TurnOutput>> {
  const { turn, session } = followed;
  if (turn === null)
    return { output: { status: "idle", session_id: sessionIdentifier(session) }, text: "no turn has run in this session yet" };
  const ask = followed.how === "asking" ? followed.asks.at(-1) : undefined;
  const pendingAsk = ask === undefined ? {} : { pendingAsk: { ask, session: session.id, seq: followed.seq } };
  if (turn.endedAt === null) return { ...runningAnswer(followed, turn), ...pendingAsk };
  return endedAnswer(followed, turn);
}

function runningAnswer(followed: FollowResult, turn: Turn): ToolAnswer<TurnOutput> {
  const { session, asks, activity, warnings } = followed;
  const id = sessionIdentifier(session);
  const output = {
    status: "running",
    ...commonFields(followed, turn),
    ...questionsField(asks),
    ...warningsField(warnings),
    next: "wait_session",
  };
  const questions = asks.map(
    (ask) => `It asks: ${askText(ask)}\nAnswer session_id "${id}" with: skein answer ${ask.id.slice(-8)} <answer>\n`,
  );
  const text = `${questions.join("")}${turn.agent} is still working (${formatDuration(Date.now() - turn.startedAt)}; ${activity}). Call wait_session with session_id "${id}".`;
  return { output, text };
}

async function endedAnswer(followed: FollowResult, turn: Turn): Promise<ToolAnswer<TurnOutput>> {
  const { session, asks, warnings } = followed;
  const status = turn.status ?? "broken";
  const { text: answer, file } = await boundAnswer(followed.answer, session, turn);
  const problem =
    status === "ok" || turn.error === null ? null : [turn.error.message, turn.error.hint].filter((line) => line !== undefined).join("\n");
  const output: TurnOutput = {
    status,
    ...commonFields(followed, turn),
    answer,
    ...(file === null ? {} : { answer_file: file }),
    ...(status === "needs-input" ? { ...questionsField(asks), next: "work_with" } : {}),
    ...(problem === null ? {} : { error: problem }),
    ...warningsField(warnings),
  };
  if (status === "ok") return { output, text: answer };
  const questions = asks.map((ask) => `It asks: ${askText(ask)}`);
  const nextStep = status === "needs-input" ? ["Call work_with again with the answer as the task, in the same session."] : [];
  const text = [
    answer,
    ...questions,
    status === "needs-input" ? null : `The turn ended as ${status}: ${problem ?? "no reason given"}`,
    ...nextStep,
  ]
    .filter((line) => line !== null && line !== "")
    .join("\n\n");
  return { output, text, isError: status !== "needs-input" };
}

function commonFields({ session, seq }: FollowResult, { id, agent, model, costUsd }: Turn) {
  return {
    session_id: sessionIdentifier(session),
    turn_id: id,
    seq,
    agent,
    ...(model === null ? {} : { model }),
    ...(costUsd === null ? {} : { cost_usd: costUsd }),
  };
}

function questionsField(asks: Ask[]): Pick<TurnOutput, "questions"> {
  return asks.length === 0 ? {} : { questions: asks.map(({ question, options }) => ({ question, options })) };
}

function warningsField(warnings: string[]): Pick<TurnOutput, "warnings"> {
  return warnings.length === 0 ? {} : { warnings };
}

function askText({ question, options }: Ask): string {
  return options.length === 0 ? question : `${question} (${options.join(" | ")})`;
}
