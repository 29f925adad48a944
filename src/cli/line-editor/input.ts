// The input that the REPL reads from, and its implementation for a pipe.
import type { CommandContext } from "../parse/command.ts";
import { continuationOf } from "./prompt.ts";

export type Input = {
  /** Resolves with the next entry, of one line or several. Null when there are no more. */
  next: (prompt: string) => Promise<string | null>;
  /** Reads answers while a turn waits for them. Null when the input can't wait for an answer. */
  answers: AnswerInput | null;
  /** Sets the callback for Ctrl-C while no prompt is open. */
  onStop: (stop: () => void) => void;
  close: () => void;
};

export type AnswerInput = {
  /** Resolves with null when the user leaves the prompt without an answer. */
  next: (prompt: string) => Promise<string | null>;
  /** Closes the open prompt; its `next` resolves with null. */
  withdraw: () => void;
};

/** Reads the lines of a pipe. With `echoPrompts`, reads a terminal in line mode, which edits the line itself. */
export function lineInput({ stdin, out }: CommandContext, { echoPrompts }: { echoPrompts: boolean }): Input {
  const lines = stdin.lines()[Symbol.asyncIterator]();
  const closed = Promise.withResolvers<null>();
  async function readEntry(): Promise<string | null> {
    let text: string | null = null;
    for (;;) {
      const line = await lines.next();
      if (line.done === true) return text;
      text = (text ?? "") + line.value;
      const continued = continuationOf(text);
      if (continued === null) return text;
      text = continued;
    }
  }
  return {
    next(prompt) {
      if (echoPrompts) out.write(prompt);
      return Promise.race([readEntry(), closed.promise]);
    },
    answers: null,
    onStop: () => {},
    close: () => closed.resolve(null),
  };
}
