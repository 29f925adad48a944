// Prints a session for `attach` and `logs`: stored nodes and streaming text in one output.
// Streamed text is not repeated when its node is stored, and text missing from the stream is added then.
import { cutText } from "../../kit/text/cut-text.ts";
import type { QueuedInput } from "../../protocol/api/control.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { speakerLabel } from "../../protocol/team/group.ts";
import type { Handle } from "../../protocol/tree/handle.ts";
import { callsOf, textOf, type Node, type Part } from "../../protocol/tree/node.ts";
import { resultRecord } from "../../protocol/json/records.ts";
import type { TextOutput } from "../parse/command.ts";
import { printableText, stripControls, styleOf } from "../terminal/style.ts";
import { firstRows } from "../live/output-rows.ts";
import { createAnswerWriter } from "./answer-writer.ts";
import { printableLabel } from "./session-label.ts";
import {
  askLines,
  callLine,
  errorLines,
  noticeLines,
  queueLines,
  resultLines,
  startLine,
  summaryLine,
  type LineStyle,
} from "./event-lines.ts";

export type SessionPrinterOptions = {
  answers: "typed" | "elsewhere";
};

export function sessionPrinter(out: TextOutput, { answers }: SessionPrinterOptions): (event: Event) => void {
  const style = styleOf(out);
  const denials = new Set<string>();
  const lineStyle = () => ({ style, columns: out.columns, denials });
  const { printLines, append, setAnswer, endAnswer } = createAnswerWriter(out);
  const calls = new Set<string>();
  let queue: QueuedInput[] = [];

  function printCall(id: string, name: string, input: Record<string, unknown>): void {
    if (!calls.has(id)) printLines(callLine(name, input, lineStyle()));
    calls.add(id);
  }
  function printNode(node: Node): void {
    if (node.author === "agent") {
      setAnswer(textOf(node));
      endAnswer();
      for (const { id, name, input } of callsOf(node)) printCall(id, name, input);
    }
    printLines(...messageLines(node, lineStyle()), ...node.parts.flatMap((part) => partLines(part, lineStyle())));
  }
  function printEnd(event: Extract<Event, { type: "turn.ended" }>): void {
    const result = resultRecord(event.turn, event.session, { ...event, answer: "" });
    endAnswer();
    calls.clear();
    if (event.next === undefined) printLines(...errorLines(result, style));
    printLines(...noticeLines(event, lineStyle()), style.dim(summaryLine(result, printableLabel(event.session))));
  }
  function printQueue(newQueue: QueuedInput[]): void {
    printLines(...queueLines(queue, newQueue, lineStyle()));
    queue = newQueue;
  }

  return (event) => {
    if (event.type === "tool.denied") denials.add(event.text);
    switch (event.type) {
      case "turn.started":
        return printLines(style.dim(startLine(event)));
      case "node.added":
        return printNode(event.node);
      case "text.delta":
        return append(event.text);
      case "draft.shown":
        return event.key === "text" ? setAnswer(event.text) : undefined;
      case "tool.started":
        return printCall(event.call, event.name, event.input);
      case "ask.opened":
        return printLines(...askLines(event.ask, lineStyle(), answers));
      case "queue.changed":
        return printQueue(event.queue);
      case "turn.ended":
        return printEnd(event);
      default:
        return printLines(...noticeLines(event, lineStyle()));
    }
  };
}

const promptBytes = 4096;
const noteBytes = 400;
const maxOutputLines = 20;

/** The text of a user message or a note. Returns [] for nodes of agents and tools. */
function messageLines(node: Node, { style }: LineStyle): string[] {
  const text = textOf(node).trimEnd();
  if (text === "" || node.author === "agent" || node.author === "tool") return [];
  if (node.author === "note") return [style.dim(`  ${stripControls(noteTitle(node))}: ${stripControls(headOf(text, noteBytes))}`)];
  const lines = cutText(text, promptBytes, { keep: "both" }).text.split("\n");
  return lines.map((line, index) => style.bold(`${index === 0 ? ">" : " "} ${printableText(line)}`));
}

function noteTitle({ note }: Node): string {
  return note?.about === "group" ? speakerLabel(note.said) : (note?.about ?? "note");
}

function partLines(part: Part, lineStyle: LineStyle): string[] {
  if (part.kind === "result") return resultLines(part, lineStyle);
  if (part.kind === "image") return [lineStyle.style.dim(`  [image ${stripControls(part.mime)}]`)];
  if (part.kind !== "handle") return [];
  const { style, columns } = lineStyle;
  // The first line of the excerpt repeats the command.
  const output = firstRows(part.excerpt.trimEnd().split("\n").slice(1), {
    max: maxOutputLines,
    columns: columns - 2,
    hint: "skein export shows all",
  });
  return [callLine(part.handle.source, { command: handleTitle(part.handle) }, lineStyle), ...output.map((row) => style.dim(`  ${row}`))];
}

function handleTitle({ identifier, metadata }: Handle): string {
  return typeof metadata.command === "string" ? metadata.command : identifier;
}

function headOf(text: string, bytes: number): string {
  return cutText(text, bytes, { keep: "head" }).text;
}
