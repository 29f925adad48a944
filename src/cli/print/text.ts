// Prints the answer to stdout and everything else to stderr. On a terminal the answer streams;
// a pipe gets only the complete final answer.
import type { QueuedInput } from "../../protocol/api/control.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { Node, ResultPart } from "../../protocol/tree/node.ts";
import type { ResultRecord } from "../../protocol/json/records.ts";
import type { CommandContext } from "../parse/command.ts";
import { styleOf } from "../terminal/style.ts";
import { createAnswerWriter } from "./answer-writer.ts";
import { askLines, callLine, errorLines, noticeLines, queueLines, resultLines, startLine, summaryLine, teamLines } from "./event-lines.ts";
import type { Printer, PrintOptions } from "./printer.ts";

/** Line width if stderr is not a terminal. */
const fileColumns = 400;

export function textPrinter(ctx: CommandContext, options: PrintOptions): Printer {
  const style = styleOf(ctx.err);
  const lineStyle = () => ({ style, columns: ctx.err.columns });
  const isLive = ctx.out.isTty && options.stream;
  const { printLines, append, isEmpty, endAnswer } = createAnswerWriter(ctx.out, ctx.err);
  let turn: string | null = null;
  let queue: QueuedInput[] = [];
  /** Questions of this turn and its sub-sessions, with the tool call of each. */
  const asks = new Map<string, string | null>();

  function startTurn(event: Extract<Event, { type: "turn.started" }>): void {
    // A late message starts another turn; the agent was already printed with the first one.
    if (turn === null && options.conversation !== "next") printLines(style.dim(startLine(event)));
    turn = event.turnId;
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
  /** Omits results of questions: the outcome was printed when the question was closed. */
  function resultsOf(node: Node): ResultPart[] {
    const answered = new Set(asks.values());
    return node.parts.filter((part) => part.kind === "result").filter(({ call }) => !answered.has(call));
  }

  function event(event: Event): void {
    if (event.type === "turn.started") return startTurn(event);
    if (event.type === "queue.changed") return printQueue(event.queue);
    if (event.type === "ask.opened") return printAsk(event);
    if (event.type === "ask.closed") return printLines(...(asks.has(event.ask.id) ? noticeLines(event, lineStyle()) : []));
    if (event.turnId !== turn) return;
    switch (event.type) {
      case "text.delta":
        return isLive ? append(event.text) : undefined;
      case "tool.started":
        // A question is printed when it is opened.
        return event.name === "ask_user" ? undefined : printLines(callLine(event.name, event.input, lineStyle()));
      case "node.added":
        return printLines(
          ...teamLines(event.node, { style, columns: ctx.err.isTty ? ctx.err.columns : fileColumns }),
          ...resultsOf(event.node).flatMap((part) => resultLines(part, lineStyle())),
        );
      default:
        return printLines(...noticeLines(event, lineStyle()));
    }
  }

  function finish(result: ResultRecord): void {
    if (!isLive || isEmpty()) append(result.result);
    endAnswer();
    const isExpected = options.conversation !== undefined && result.status === "cancelled";
    if (!isExpected) printLines(...errorLines(result, style));
    printLines(style.dim(summaryLine(result)));
  }

  return { event, finish };
}
