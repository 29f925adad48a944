// For people: the answer on stdout, everything about the run on stderr. On a terminal the answer streams;
// into a pipe only the final answer goes, whole.
import type { QueuedInput } from "../../protocol/control.ts";
import type { Event } from "../../protocol/event.ts";
import type { ResultRecord } from "../../protocol/records.ts";
import type { Door } from "../command.ts";
import { styleOf } from "../style.ts";
import { askLines, callLine, controls, errorLines, noticeLines, queueLines, resultLines, startLine, summaryLine } from "./lines.ts";
import type { Printer, PrintOptions } from "./printer.ts";

export function textPrinter(door: Door, options: PrintOptions): Printer {
  const style = styleOf(door.err);
  const look = () => ({ style, columns: door.err.columns });
  const isLive = door.out.isTty && options.stream;
  let midLine = false;
  let shown = false;
  let turn: string | null = null;
  let queue: QueuedInput[] = [];

  /** Lines about the run, on lines of their own even when the answer is streaming. */
  function say(...lines: string[]): void {
    if (midLine && lines.length > 0) door.out.write("\n");
    if (lines.length > 0) midLine = false;
    for (const line of lines) door.err.write(`${line}\n`);
  }
  function answer(text: string): void {
    door.out.write(door.out.isTty ? text.replace(controls, "") : text);
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

  function event(event: Event): void {
    if (event.type === "turn.started") return began(event);
    if (event.type === "queue.changed") return queued(event.queue);
    if (event.type === "ask.opened") return say(...askLines(event.ask, look(), options.talk === undefined ? "elsewhere" : "typed"));
    if (event.turnId !== turn) return;
    switch (event.type) {
      case "text.delta":
        return isLive ? answer(event.text) : undefined;
      case "tool.started":
        // A question is shown when it is asked.
        return event.name === "ask_user" ? undefined : say(callLine(event.name, event.input, look()));
      case "node.added":
        return say(...event.node.parts.flatMap((part) => (part.kind === "result" ? resultLines(part, look()) : [])));
      default:
        return say(...noticeLines(event, look()));
    }
  }

  function finish(result: ResultRecord): void {
    if (!(isLive && shown) && result.result !== "") answer(result.result);
    if (midLine) door.out.write("\n");
    midLine = false;
    const isExpected = options.talk !== undefined && result.status === "cancelled";
    if (!isExpected) say(...errorLines(result, style));
    say(style.dim(summaryLine(result)));
  }

  return { event, finish };
}
