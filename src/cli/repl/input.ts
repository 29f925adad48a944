// Where entries come from without a terminal: the lines of a pipe. And what the REPL sees of either source.
import type { CommandContext } from "../parse/command.ts";
import { continuationOf } from "./prompt.ts";

export type Input = {
  /** The next entry, of one line or several; null when there are no more. */
  next: (prompt: string) => Promise<string | null>;
  /** Where a turn that waits for an answer can be given one; null when nobody could be waited for. */
  answers: AnswerInput | null;
  /** What Ctrl-C does while nothing is being entered. */
  onStop: (stop: () => void) => void;
  close: () => void;
};

export type AnswerInput = {
  /** Null when the person wants to give none. */
  next: (prompt: string) => Promise<string | null>;
  /** Nothing is asked any more: what waits for it gets null. */
  withdraw: () => void;
};

/** Lines as the terminal itself lets one type them, each asked for. */
export function lineInput(ctx: CommandContext): Input {
  const piped = pipedInput(ctx);
  return {
    ...piped,
    next(prompt) {
      ctx.out.write(prompt);
      return piped.next(prompt);
    },
  };
}

export function pipedInput(ctx: CommandContext): Input {
  const lines = ctx.stdin.lines()[Symbol.asyncIterator]();
  const closed = Promise.withResolvers<null>();
  async function entry(): Promise<string | null> {
    let text: string | null = null;
    for (;;) {
      const line = await lines.next();
      if (line.done === true) return text;
      text = (text ?? "") + line.value;
      const more = continuationOf(text);
      if (more === null) return text;
      text = more;
    }
  }
  return {
    next: () => Promise.race([entry(), closed.promise]),
    answers: null,
    onStop: () => {},
    close: () => closed.resolve(null),
  };
}
