// Prints a turn for screen readers: complete lines that start with their kind in words. Nothing is drawn or overwritten.
// All output goes to stdout, in order.
import { waitingText } from "../../protocol/limits/clock-time.ts";
import { formatDuration } from "../../kit/text/duration.ts";
import { retryText } from "../../protocol/limits/clock-time.ts";
import { pluralize, oneLine } from "../../kit/text/cut-text.ts";
import type { Ask, QueuedInput } from "../../protocol/api/control.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { shortId, type Node, type ResultPart, mainArgument } from "../../protocol/tree/node.ts";
import { costText } from "../../protocol/tree/usage-text.ts";
import type { ResultRecord } from "../../protocol/json/records.ts";
import type { CommandContext } from "../parse/command.ts";
import { printable, printableText, stripControls } from "../terminal/style.ts";
import { costOfResult, placeLine } from "./event-lines.ts";
import type { Printer, PrintOptions } from "./printer.ts";

export function screenReaderPrinter(ctx: Pick<CommandContext, "out">, options: Pick<PrintOptions, "conversation" | "directory">): Printer {
  const printLines = (...lines: string[]) => lines.forEach((line) => ctx.out.write(`${line}\n`));
  let turn: string | null = null;
  let queue: readonly QueuedInput[] = [];
  function printQueue(newQueue: readonly QueuedInput[]): void {
    const added = newQueue.filter(({ id }) => queue.every((other) => other.id !== id));
    queue = newQueue;
    printLines(...added.map(({ text }) => `Queued: ${stripControls(text)}`));
  }
  function event(event: Event): void {
    if (event.type === "ask.opened") return printLines(...questionLines(event.ask));
    if (event.type === "turn.started") {
      const { agent, model } = event.turn;
      const isFirst = turn === null && options.conversation !== "next";
      turn = event.turnId;
      const place = options.directory === undefined || !isFirst ? null : placeLine(event, options.directory);
      if (isFirst) printLines(`Turn started: ${stripControls(agent)}${model === null ? "" : `, ${stripControls(model)}`}.`);
      if (place !== null) printLines(`Note: ${place}.`);
    }
    if (event.turnId !== turn) return;
    if (event.type === "queue.changed") return printQueue(event.queue);
    printLines(...eventLines(event));
  }
  function finish(result: ResultRecord): void {
    if (result.error !== undefined && result.status !== "cancelled") {
      const { message, hint } = result.error;
      printLines(`Error: ${stripControls(message)}`, ...(hint === undefined ? [] : [`Hint: ${stripControls(hint)}`]));
    }
    const cost = costText(costOfResult(result), { isForScreenReader: true });
    printLines(`Turn ended: ${result.status}, ${pluralize(result.steps, "step")}, ${cost}, ${formatDuration(result.duration_ms)}.`);
  }
  return { event, finish };
}

export function questionLines({ question, options }: Pick<Ask, "question" | "options">): string[] {
  const optionLines = options.map((option, index) => `Option ${index + 1}: ${stripControls(option)}`);
  return [
    `Question: ${stripControls(question)}`,
    ...optionLines,
    optionLines.length > 0 ? "Type the number of an option, or an answer." : "Type the answer.",
  ];
}

function eventLines(event: Event): string[] {
  switch (event.type) {
    case "node.added":
      return nodeLines(event.node);
    case "tool.started":
      return [`Tool ${stripControls(event.name)}: ${printable(oneLine(mainArgument(event.input), 300))}`];
    case "tool.denied":
      return [`Denied: ${stripControls(event.text)}`];
    case "model.retried":
      return [`Retry, ${retryText(event)}: ${stripControls(event.error.message)}`];
    case "warning.raised":
      return [`Warning: ${stripControls(event.message)}`];
    case "turn.ended":
      return event.next?.wakeAt == null ? [] : [`The turn is ${waitingText(event.next.wakeAt, Date.now())}.`];
    case "turn.paused":
      return [`Paused. Resume with: skein resume ${shortId(event.sessionId)}`];
    case "turn.resumed":
      return ["Resumed."];
    case "session.spawned":
      return [`Sub-session of ${stripControls(event.agent)}: ${printable(oneLine(event.task, 300))}`];
    default:
      return [];
  }
}

/** The text and results of a node. Each text starts with its author. */
export function nodeLines(node: Node): string[] {
  return node.parts.flatMap((part) => {
    if (part.kind === "result") return resultLine(part);
    if (part.kind !== "text" || part.text.trim() === "") return [];
    const author = node.author === "user" ? "You" : node.author === "agent" ? "Assistant" : "Note";
    return `${author}: ${printableText(part.text.trim())}`;
  });
}

function resultLine({ name, text, isError }: ResultPart): string {
  const lines = text.trimEnd().split("\n");
  const excerpt = printable(oneLine((isError ? lines.at(-1) : lines[0]) ?? "", 300));
  return `Result of ${stripControls(name)}, ${isError ? "failed" : "ok"}, ${pluralize(lines.length, "line")}: ${excerpt}`;
}
