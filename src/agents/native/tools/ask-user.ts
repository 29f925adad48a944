// The tool ask_user asks the user a question. It runs in this process, not in the executor. skein never makes up an answer.
import { validateInput } from "../../../executor/validate.ts";
import type { TurnError } from "../../../protocol/api/error.ts";
import { shortId, type CallPart } from "../../../protocol/tree/node.ts";
import type { ToolDefinition, ToolOutcome, TurnContext } from "../../../protocol/api/ports.ts";

export const askUserTool: ToolDefinition = {
  name: "ask_user",
  description: "Ask the person what only they can decide, and wait.",
  parameters: {
    type: "object",
    properties: { question: { type: "string" }, options: { type: "array", items: { type: "string" } } },
    required: ["question"],
  },
};

/** A question that the user answers after this turn has ended. */
export type OpenQuestion = { ask: string; question: string };

export async function runAskUser(call: CallPart, { ask, signal }: TurnContext): Promise<ToolOutcome | OpenQuestion> {
  const { input, problem } = validateInput(askUserTool, call.input);
  if (problem !== null) return { text: problem, isError: true };
  const { question, options = [] } = input as { question: string; options?: string[] };
  if (question.trim() === "") return { text: 'ask_user: "question" is empty', isError: true };
  if (options.some((option) => typeof option !== "string"))
    return { text: 'ask_user: "options" must be an array of strings', isError: true };
  const outcome = await ask({ call: call.id, question, options });
  switch (outcome.type) {
    case "answered":
      return { text: outcome.text, isError: false };
    case "later":
      return { ask: outcome.ask, question };
    case "expired":
      return { text: signal.aborted ? "The turn was stopped before there was an answer." : unanswered, isError: true };
  }
}

const unanswered =
  "Nobody answered in time. Continue with what needs no answer and say what you assumed, or stop and say what you need to know.";

/** Ends a turn whose questions are answered later. */
export function needsInputError(questions: readonly OpenQuestion[]): TurnError {
  const { ask, question } = questions[0]!;
  const [more, list] = questions.length === 1 ? ["", ""] : [` (and ${questions.length - 1} more)`, "; `skein asks` lists them all"];
  return { kind: "needs-input", message: `${question}${more}`, hint: `skein answer ${shortId(ask)} "…"${list}` };
}
