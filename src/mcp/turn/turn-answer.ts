// Renders a turn as the answer of a call: the agent's answer unchanged, or the turn's state and the next step. This is the
// only file that shortens an answer.
import { createSafely, readSafely } from "../../kit/files/safe-file.ts";
import { byteLength, cutText } from "../../kit/text/cut-text.ts";
import { formatDuration } from "../../kit/text/duration.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { costRecord } from "../../protocol/json/records.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { sessionIdentifier, type Session, type Turn } from "../../protocol/tree/turn.ts";
import { withSubSessions } from "../../protocol/tree/usage.ts";
import type { FollowResult } from "./follow-turn.ts";
import type { ToolAnswer } from "../tools/tool.ts";

/** Like the schema `turnOutput`. */
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
  cost_is_partial?: true;
  questions?: { question: string; options: string[] }[];
  error?: string;
  warnings?: string[];
};

export async function turnAnswer(followed: FollowResult): Promise<ToolAnswer<TurnOutput>> {
  const { turn, session, asks, seq } = followed;
  if (turn === null)
    return { output: { status: "idle", session_id: sessionIdentifier(session) }, text: "no turn has run in this session yet" };
  if (turn.endedAt !== null) return endedAnswer(followed, turn);
  const ask = followed.how === "asking" ? asks.at(-1) : undefined;
  return { ...runningAnswer(followed, turn), pendingAsk: ask && { ask, session: session.id, seq } };
}

function runningAnswer(followed: FollowResult, turn: Turn): ToolAnswer<TurnOutput> {
  const { session, asks, activity } = followed;
  const id = sessionIdentifier(session);
  const output = { status: "running", ...commonFields(followed, turn), questions: questionsOf(asks), next: "wait_session" };
  const questions = asks.map(
    (ask) => `It asks: ${askText(ask)}\nAnswer session_id "${id}" with: skein answer ${ask.id.slice(-8)} <answer>\n`,
  );
  const text = `${questions.join("")}${turn.agent} is still working (${formatDuration(Date.now() - turn.startedAt)}; ${activity}). Call wait_session with session_id "${id}".`;
  return { output, text };
}

async function endedAnswer(followed: FollowResult, turn: Turn): Promise<ToolAnswer<TurnOutput>> {
  const { session, asks } = followed;
  const status = turn.status ?? "broken";
  const { text: answer, file } = await shortenAnswer(followed.answer, session, turn);
  const fields = { status, ...commonFields(followed, turn), answer, answer_file: file ?? undefined };
  if (status === "ok") return { output: fields, text: answer };
  const error = turn.error === null ? undefined : [turn.error.message, turn.error.hint].filter((line) => line !== undefined).join("\n");
  const needsInput = status === "needs-input";
  const output = { ...fields, ...(needsInput && { questions: questionsOf(asks), next: "work_with" }), error };
  const ending = needsInput
    ? "Call work_with again with the answer as the task, in the same session."
    : `The turn ended as ${status}: ${error ?? "the reason is unknown"}`;
  const texts = [answer, ...asks.map((ask) => `It asks: ${askText(ask)}`), ending];
  return { output, text: texts.filter((text) => text !== "").join("\n\n"), isError: !needsInput };
}

function commonFields({ session, seq, warnings }: FollowResult, turn: Turn) {
  const { id, agent, model } = turn;
  const { cost_usd, cost_is_partial } = costRecord(withSubSessions(turn));
  return {
    session_id: sessionIdentifier(session),
    turn_id: id,
    seq,
    agent,
    model: model ?? undefined,
    cost_usd: cost_usd ?? undefined,
    cost_is_partial,
    warnings: warnings.length === 0 ? undefined : warnings,
  };
}

function questionsOf(asks: Ask[]): TurnOutput["questions"] {
  return asks.length === 0 ? undefined : asks.map(({ question, options }) => ({ question, options }));
}

function askText({ question, options }: Ask): string {
  return options.length === 0 ? question : `${question} (${options.join(" | ")})`;
}

const answerLimits = { tokens: 10_000, excerptBytes: 24_000 };
/** A text this long has more than 10,000 tokens for sure, so it is not counted. */
const surelyLongBytes = 1_000_000;

/** Shortens an answer that is too long for its caller. Writes the full text to a file next to the transcript. */
export async function shortenAnswer(
  text: string,
  session: Session,
  turn: Pick<Turn, "id">,
): Promise<{ text: string; file: string | null }> {
  if (!(await isLong(text))) return { text, file: null };
  const path = session.transcript?.replace(/\.jsonl$/, `.${shortId(turn.id)}.answer.md`);
  const file = path !== undefined && storeAnswer(path, text) ? path : null;
  const location = file === null ? `skein show ${session.id}` : file;
  const note = (bytes: number) => `[... ${bytes} bytes not shown; the full answer: ${location} ...]`;
  return { text: cutText(text, answerLimits.excerptBytes, { keep: "both", headShare: 0.5, note }).text, file };
}

/** False if the file can't be written, or if another program put a file there. */
function storeAnswer(path: string, text: string): boolean {
  try {
    return createSafely(path, text) || readSafely(path, { maxBytes: byteLength(text) })?.toString("utf8") === text;
  } catch {
    return false;
  }
}

async function isLong(text: string): Promise<boolean> {
  const bytes = byteLength(text);
  // No text has more tokens than bytes.
  if (bytes <= answerLimits.tokens) return false;
  if (bytes >= surelyLongBytes) return true;
  return (await import("../../kit/text/count-tokens.ts")).countTextTokens(text) > answerLimits.tokens;
}
