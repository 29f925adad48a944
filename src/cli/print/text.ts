// Prints the answer to stdout and everything else to stderr. Text streams to a terminal and to a pipe alike.
// With --no-stream only the final answer is printed, when it is complete.
import type { QueuedInput } from "../../protocol/api/control.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { callsOf, shortId, textOf, type Node, type ResultPart } from "../../protocol/tree/node.ts";
import type { ResultRecord } from "../../protocol/json/records.ts";
import type { CommandContext } from "../parse/command.ts";
import { styleOf } from "../terminal/style.ts";
import { startLiveOutput } from "../live/live-output.ts";
import { createAnswerWriter } from "./answer-writer.ts";
import {
  askLines,
  callLine,
  errorLines,
  noteLines,
  noticeLines,
  passLines,
  queueLines,
  resultLines,
  startLines,
  summaryLine,
} from "./event-lines.ts";
import type { Printer, PrintOptions } from "./printer.ts";
import { printableLabel } from "./session-label.ts";

/** Line width if stderr is not a terminal. */
const fileColumns = 400;

/** In a conversation the user sees what a command printed. */
const conversationOutput = { max: 20, hint: "/context shows all" };

export function textPrinter(ctx: CommandContext, options: PrintOptions): Printer {
  const style = styleOf(ctx.err);
  const denials = new Set<string>();
  const lineStyle = () => ({
    style,
    columns: ctx.err.columns,
    denials,
    ...(options.conversation === undefined ? {} : { commandOutput: conversationOutput }),
  });
  const { printLines: printAlways, append, setAnswer, isEmpty, endAnswer } = createAnswerWriter(ctx.out, ctx.err);
  const printLines = options.quiet === true ? () => {} : printAlways;
  const live = options.quiet === true ? { event: () => {}, close: () => {} } : startLiveOutput(ctx, options.watch ?? null);
  let hasAnswer = false;
  let turn: string | null = null;
  let label: string | null = null;
  let queue: QueuedInput[] = [];
  /** Questions of this turn and its sub-sessions, with the tool call of each. */
  const asks = new Map<string, string | null>();

  function startTurn(event: Extract<Event, { type: "turn.started" }>): void {
    // A late message starts another turn; the agent was already printed with the first one.
    const isFirst = turn === null && options.conversation !== "next";
    printLines(...(isFirst ? startLines(event, options.directory, style) : []), ...passLines(event.turn, style));
    [turn, label] = [event.turnId, printableLabel(event.session)];
    endAnswer();
  }
  function printQueue(newQueue: QueuedInput[]): void {
    printLines(...queueLines(queue, newQueue, lineStyle()));
    queue = newQueue;
  }

  function printAsk({ ask, turnId }: Extract<Event, { type: "ask.opened" }>): void {
    asks.set(ask.id, turnId === turn ? ask.call : null);
    printLines(...askLines(ask, lineStyle(), options.conversation === undefined ? "elsewhere" : "typed"));
  }

  /** Prints what the stream lacked. Text before a call is no answer yet. */
  function printText(node: Node): void {
    if (!options.stream || node.author !== "agent") return;
    setAnswer(textOf(node));
    hasAnswer = !isEmpty() && callsOf(node).length === 0;
    endAnswer();
  }

  function event(event: Event): void {
    live.event(event);
    if (event.type === "turn.started") return startTurn(event);
    if (event.type === "queue.changed") return printQueue(event.queue);
    if (event.type === "ask.opened") return printAsk(event);
    if (event.type === "ask.closed") return printLines(...(asks.has(event.ask.id) ? noticeLines(event, lineStyle()) : []));
    if (event.turnId !== turn) return;
    if (event.type === "tool.denied") denials.add(event.text);
    switch (event.type) {
      case "text.delta":
        return options.stream ? append(event.text) : undefined;
      case "tool.started":
        // A question is printed when it is opened.
        return event.name === "ask_user" ? undefined : printLines(callLine(event.name, event.input, lineStyle()));
      case "node.added":
        printText(event.node);
        return printLines(
          ...noteLines(event.node, { style, columns: ctx.err.isTty ? ctx.err.columns : fileColumns }),
          ...resultsOf(event.node, new Set(asks.values())).flatMap((part) => resultLines(part, lineStyle())),
        );
      default:
        return printLines(...noticeLines(event, lineStyle()));
    }
  }

  function finish(result: ResultRecord): void {
    live.close();
    if (!hasAnswer && isEmpty()) append(result.result);
    endAnswer();
    const isExpected = options.conversation !== undefined && result.status === "cancelled";
    if (!isExpected) printAlways(...errorLines(result, style));
    printLines(style.dim(summaryLine(result, label ?? shortId(result.session_id))));
  }

  return { event, finish, close: live.close };
}

/** Omits results of questions: the outcome was printed when the question was closed. */
function resultsOf(node: Node, answeredCalls: ReadonlySet<string | null>): ResultPart[] {
  return node.parts.filter((part) => part.kind === "result").filter(({ call }) => !answeredCalls.has(call));
}
