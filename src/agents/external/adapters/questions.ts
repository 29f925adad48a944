// Questions to the user in a call of Claude Code or Gemini CLI. A headless CLI gets no answer itself, so skein asks them.
import { listAt, textAt } from "../../../models/wire/json.ts";
import type { TurnError } from "../../../protocol/api/error.ts";
import type { CallPart } from "../../../protocol/tree/node.ts";
import type { AskRequest, TurnContext } from "../../../protocol/api/ports.ts";
import { needsInputError, type OpenQuestion } from "../../native/tools/ask-user.ts";

export type CliQuestion = Pick<AskRequest, "question" | "options">;

/** The input of the call has `questions`, each with labelled `options`. */
export function questionsIn({ input }: CallPart): CliQuestion[] {
  return listAt(input, "questions").flatMap((item) => {
    const question = textAt(item, "question");
    const options = listAt(item, "options").map((option) => textAt(option, "label"));
    return question.trim() === "" ? [] : [{ question, options: options.filter((label) => label !== "") }];
  });
}

/** Opens the questions as asks. Resolves to the error that ends the turn, because the CLI can't wait for an answer. */
export async function openAsksForLater({ ask }: Pick<TurnContext, "ask">, questions: CliQuestion[]): Promise<TurnError | null> {
  const open: OpenQuestion[] = [];
  for (const question of questions) {
    const outcome = await ask({ call: null, ...question });
    if (outcome.type === "later") open.push({ ask: outcome.ask, question: question.question });
  }
  const [first, ...others] = open;
  return first === undefined ? null : needsInputError([first, ...others]);
}
