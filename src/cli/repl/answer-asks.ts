// Asks the questions of a running turn and of its sub-sessions at the prompt, one after the other.
// Other events are printed after the answer, so that they do not overwrite the text being typed.
import type { Api } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { AnswerInput } from "../line-editor/input.ts";
import type { CommandContext } from "../parse/command.ts";
import { watchSubSession } from "../live/watch-sub-session.ts";
import type { Printer } from "../print/printer.ts";
import { styleOf } from "../terminal/style.ts";
import { printFault } from "../print/print-fault.ts";

type AskOpened = Extract<Event, { type: "ask.opened" }>;

export type AnswerContext = {
  api: Pick<Api, "ask" | "turn">;
  ctx: CommandContext;
  input: AnswerInput;
  /** True for a typed line that is a slash command and not an answer. */
  isCommand: (text: string) => boolean;
  /** Called once, when the user leaves the prompt without an answer. */
  stop: () => void;
};

/** A printer that asks the turn's questions at the prompt. Call `close` when the turn has ended. */
export function createAnsweringPrinter(printer: Printer, answering: AnswerContext): Printer & { close: () => void } {
  const queue: AskOpened[] = [];
  let current: AskOpened | null = null;
  /** Events that are printed after the answer to `current`. */
  const pending: Event[] = [];
  /** True if the question was answered here or elsewhere, or if the agent no longer waits for it. */
  let isWithdrawn = false;
  let isClosed = false;

  function onEvent(event: Event): void {
    if (event.type === "ask.opened") queue.push(event);
    else if (current === null) printer.event(event);
    else pending.push(event);
    if (event.type === "ask.closed") removeAsk(event.ask.id);
    if (event.type === "session.spawned") {
      const watch = { session: event.session, onEvent: onSubEvent, isClosed: () => isClosed };
      watchSubSession(answering.api.turn.watch, watch).catch((error) => printError(answering, error));
    }
    void askNext();
  }
  /** Passes on only the questions of a sub-session. */
  function onSubEvent(event: Event): void {
    if (event.type === "ask.opened" || event.type === "ask.closed" || event.type === "session.spawned") onEvent(event);
  }
  function removeAsk(id: string): void {
    const index = queue.findIndex((opened) => opened.ask.id === id);
    if (index >= 0) queue.splice(index, 1);
    if (current?.ask.id === id) withdraw();
  }
  function withdraw(): void {
    isWithdrawn = true;
    answering.input.withdraw();
  }
  async function askNext(): Promise<void> {
    if (current !== null || isClosed) return;
    const next = queue.shift();
    if (next === undefined) return;
    printer.event(next);
    current = next;
    isWithdrawn = false;
    if (!(await readAnswer(answering, next.ask.id)) && !isWithdrawn) {
      isClosed = true;
      answering.stop();
    }
    current = null;
    for (const event of pending.splice(0)) printer.event(event);
    void askNext();
  }

  return {
    event: onEvent,
    finish: (result) => printer.finish(result),
    close() {
      printer.close?.();
      isClosed = true;
      if (current !== null) withdraw();
    },
  };
}

/** Asks until an answer is accepted. False when the user leaves the prompt. */
async function readAnswer(answering: AnswerContext, ask: string): Promise<boolean> {
  const { ctx, input, isCommand } = answering;
  const label = `${styleOf(ctx.out).bold("answer >")} `;
  for (;;) {
    const entry = await input.next(label);
    if (entry === null) return false;
    if (isCommand(entry)) ctx.err.write("a command is no answer: a leading space sends it, Ctrl-C stops the turn\n");
    else if (entry.trim() !== "" && (await sendAnswer(answering, ask, entry.trim()))) return true;
  }
}

/** False if the answer was refused and the question is still open. */
async function sendAnswer(answering: AnswerContext, ask: string, text: string): Promise<boolean> {
  try {
    await answering.api.ask.answer({ ask, text });
    return true;
  } catch (error) {
    printError(answering, error);
    return error instanceof Fault && error.code === "ask-closed";
  }
}

function printError({ ctx }: AnswerContext, error: unknown): void {
  printFault(error, { env: ctx.env, write: ctx.err.write });
}
