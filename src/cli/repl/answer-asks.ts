// Questions of a running turn, and of those below it, asked one after the other at the prompt. What else happens
// meanwhile is shown after the answer, so that nothing is written over what is being typed.
import type { Api } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { CommandContext } from "../parse/command.ts";
import type { Printer } from "../print/printer.ts";
import { styleOf } from "../terminal/style.ts";
import { printFault } from "../print/print-fault.ts";
import type { AnswerInput } from "./input.ts";

type Opened = Extract<Event, { type: "ask.opened" }>;

export type AnswerContext = {
  api: Pick<Api, "ask" | "turn">;
  door: CommandContext;
  input: AnswerInput;
  /** What is typed without being an answer. */
  isCommand: (text: string) => boolean;
  /** The person wants no answer to be given. */
  stop: () => void;
};

/** A printer that asks at the prompt what the turn asks; `close` when the turn is over. */
export function createAnsweringPrinter(printer: Printer, talk: AnswerContext): Printer & { close: () => void } {
  const waiting: Opened[] = [];
  let held: Event[] = [];
  let current: Opened | null = null;
  let isWithdrawn = false;
  let isOver = false;

  const to = { event, isOver: () => isOver };

  function show(event: Event): void {
    if (current === null) printer.event(event);
    else held.push(event);
  }
  function event(event: Event): void {
    if (event.type === "ask.opened") waiting.push(event);
    else if (event.type === "ask.closed") closed(event.ask.id);
    if (event.type === "session.spawned") watchBelow(talk, event.session, to).catch((error) => tell(talk, error));
    if (event.type !== "ask.opened") show(event);
    void ask();
  }
  /** Answered here or elsewhere, or nobody waits for it any more. */
  function closed(id: string): void {
    const at = waiting.findIndex((opened) => opened.ask.id === id);
    if (at >= 0) waiting.splice(at, 1);
    if (current?.ask.id === id) withdraw();
  }
  function withdraw(): void {
    isWithdrawn = true;
    talk.input.withdraw();
  }
  async function ask(): Promise<void> {
    if (current !== null || isOver) return;
    const next = waiting.shift();
    if (next === undefined) return;
    printer.event(next);
    current = next;
    isWithdrawn = false;
    if ((await answerOnce(talk, next.ask.id)) === "given up" && !isWithdrawn) {
      isOver = true;
      talk.stop();
    }
    current = null;
    const missed = held;
    held = [];
    for (const each of missed) printer.event(each);
    void ask();
  }

  return {
    event,
    finish: (result) => printer.finish(result),
    close() {
      isOver = true;
      if (current !== null) withdraw();
    },
  };
}

/** Until an answer is taken, or the prompt is left. */
async function answerOnce(talk: AnswerContext, ask: string): Promise<"answered" | "given up"> {
  const label = `${styleOf(talk.door.out).bold("answer >")} `;
  for (;;) {
    const given = await talk.input.next(label);
    if (given === null) return "given up";
    if (talk.isCommand(given)) talk.door.err.write("Ctrl-C stops the turn; a blank before it makes it an answer\n");
    else if (given.trim() !== "" && (await isTaken(talk, ask, given.trim()))) return "answered";
  }
}

async function isTaken(talk: AnswerContext, ask: string, text: string): Promise<boolean> {
  try {
    await talk.api.ask.answer({ ask, text });
    return true;
  } catch (error) {
    tell(talk, error);
    return error instanceof Fault && error.code === "ask-closed";
  }
}

function tell({ door }: AnswerContext, error: unknown): void {
  printFault(error, { env: door.env, write: door.err.write });
}

/** A sub-session tells of its own questions; it may not have begun yet. */
async function watchBelow(
  talk: AnswerContext,
  session: string,
  to: { event: (event: Event) => void; isOver: () => boolean },
): Promise<void> {
  let seq = 0;
  for (let isEnded = false; !to.isOver() && !isEnded;) {
    for await (const each of talk.api.turn.watch({ session, afterSeq: seq, until: "idle" })) {
      seq = each.seq;
      isEnded ||= each.type === "turn.ended";
      if (each.type === "ask.opened" || each.type === "ask.closed" || each.type === "session.spawned") to.event(each);
    }
    if (!isEnded) await Bun.sleep(100);
  }
}
