// The questions in a call by which Claude Code or Gemini CLI asks a person. Headless, nobody answers in their own way.
import { listAt, textAt } from "../../../models/wire/json.ts";
import type { TurnError } from "../../../protocol/api/error.ts";
import type { CallPart } from "../../../protocol/tree/node.ts";
import type { AskRequest, TurnContext } from "../../../protocol/api/ports.ts";
import { needsInputError, type OpenQuestion } from "../../native/tools/ask-user.ts";

export type CliQuestion = Pick<AskRequest, "question" | "options">;

/** Reads the calls of a tool whose input holds `questions`, each with `options` that have a label. */
export function createQuestionReader(tool: string): (call: CallPart) => CliQuestion[] {
  return ({ name, input }) =>
    (name === tool ? listAt(input, "questions") : []).flatMap((given) => {
      const question = textAt(given, "question");
      const options = listAt(given, "options").map((option) => textAt(option, "label"));
      return question.trim() === "" ? [] : [{ question, options: options.filter((label) => label !== "") }];
    });
}

/** Its process is gone when the answer comes: whatever the door, the turn ends with the questions. */
export async function openAsksForLater({ ask }: Pick<TurnContext, "ask">, questions: CliQuestion[]): Promise<TurnError | null> {
  const open: OpenQuestion[] = [];
  for (const each of questions) {
    const outcome = await ask({ call: null, ...each });
    if (outcome.type === "later") open.push({ ask: outcome.ask, question: each.question });
  }
  const [first, ...others] = open;
  return first === undefined ? null : needsInputError([first, ...others]);
}
