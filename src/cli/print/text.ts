// For people: the answer on stdout, everything about the run on stderr. On a terminal the answer streams;
// into a pipe only the final answer goes, whole.
import type { QueuedInput } from "../../protocol/api/control.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { Node, ResultPart } from "../../protocol/tree/node.ts";
import type { ResultRecord } from "../../protocol/json/records.ts";
import type { CommandContext } from "../parse/command.ts";
import { styleOf } from "../terminal/style.ts";
import {
  askLines,
  callLine,
  controlCharacters,
  errorLines,
  noticeLines,
  queueLines,
  resultLines,
  startLine,
  summaryLine,
  teamLines,
} from "./event-lines.ts";
import type { Printer, PrintOptions } from "./printer.ts";

/** Of a line in a file, where nothing is to fit. */
const mostColumns = 400;

export function textPrinter(ctx: CommandContext, options: PrintOptions): Printer {
  const style = styleOf(ctx.err);
  const look = () => ({ style, columns: ctx.err.columns });
  const isLive = ctx.out.isTty && options.stream;
  let midLine = false;
  let shown = false;
  let turn: string | null = null;
  let queue: QueuedInput[] = [];
  /** Of this turn and of those below it, with the calls that asked. */
  const asks = new Map<string, string | null>();

  /** Lines about the run, on lines of their own even when the answer is streaming. */
  function say(...lines: string[]): void {
    if (midLine && lines.length > 0) ctx.out.write("\n");
    if (lines.length > 0) midLine = false;
    for (const line of lines) ctx.err.write(`${line}\n`);
  }
  function answer(text: string): void {
    ctx.out.write(ctx.out.isTty ? text.replace(controlCharacters, "") : text);
    midLine = !text.endsWith("\n");
    shown = true;
  }
  function began(event: Extract<Event, { type: "turn.started" }>): void {
    // A message that came late has a turn of its own; whose it is was told with the first.
    if (turn === null && options.talk !== "next") say(style.dim(startLine(event)));
    turn = event.turnId;
    shown = false;
  }
  function queued(now: QueuedInput[]): void {
    say(...queueLines(queue, now, look()));
    queue = now;
  }

  function asked({ ask, turnId }: Extract<Event, { type: "ask.opened" }>): void {
    asks.set(ask.id, turnId === turn ? ask.call : null);
    say(...askLines(ask, look(), options.talk === undefined ? "elsewhere" : "typed"));
  }
  /** What became of a question was told when it was closed. */
  function results(node: Node): ResultPart[] {
    const answered = new Set(asks.values());
    return node.parts.filter((part) => part.kind === "result").filter(({ call }) => !answered.has(call));
  }

  function event(event: Event): void {
    if (event.type === "turn.started") return began(event);
    if (event.type === "queue.changed") return queued(event.queue);
    if (event.type === "ask.opened") return asked(event);
    if (event.type === "ask.closed") return say(...(asks.has(event.ask.id) ? noticeLines(event, look()) : []));
    if (event.turnId !== turn) return;
    switch (event.type) {
      case "text.delta":
        return isLive ? answer(event.text) : undefined;
      case "tool.started":
        // A question is shown when it is asked.
        return event.name === "ask_user" ? undefined : say(callLine(event.name, event.input, look()));
      case "node.added":
        return say(
          ...teamLines(event.node, { style, columns: ctx.err.isTty ? ctx.err.columns : mostColumns }),
          ...results(event.node).flatMap((part) => resultLines(part, look())),
        );
      default:
        return say(...noticeLines(event, look()));
    }
  }

  function finish(result: ResultRecord): void {
    if (!(isLive && shown) && result.result !== "") answer(result.result);
    if (midLine) ctx.out.write("\n");
    midLine = false;
    const isExpected = options.talk !== undefined && result.status === "cancelled";
    if (!isExpected) say(...errorLines(result, style));
    say(style.dim(summaryLine(result)));
  }

  return { event, finish };
}
