// A session as people read it afterwards or from beside it: what was stored and what streams, on one screen. What was
// streamed is not repeated when it is stored, and what was missed of a stream is made up for.
import { cutText } from "../../kit/text/cut-text.ts";
import type { QueuedInput } from "../../protocol/api/control.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { speakerLabel } from "../../protocol/team/group.ts";
import type { Handle } from "../../protocol/tree/handle.ts";
import { callsOf, textOf, type Node, type Part } from "../../protocol/tree/node.ts";
import { resultRecord } from "../../protocol/json/records.ts";
import type { TextOutput } from "../parse/command.ts";
import { stripControls, styleOf } from "../terminal/style.ts";
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
  type LineStyle,
} from "./event-lines.ts";

export type SessionPrinterOptions = {
  /** Whether an answer is shown while it comes, or when it is whole. */
  stream: boolean;
  answers: "typed" | "elsewhere";
};

export function sessionPrinter(screen: TextOutput, { stream, answers }: SessionPrinterOptions): (event: Event) => void {
  const style = styleOf(screen);
  const look = () => ({ style, columns: screen.columns });
  const flow = answerFlow(screen);
  const say = (...lines: string[]) => flow.say(...lines);
  const calls = new Set<string>();
  let queue: QueuedInput[] = [];

  function call(id: string, name: string, input: Record<string, unknown>): void {
    if (!calls.has(id)) say(callLine(name, input, look()));
    calls.add(id);
  }
  function node(added: Node): void {
    if (added.author === "agent") {
      flow.answer(textOf(added));
      flow.endAnswer();
      for (const { id, name, input } of callsOf(added)) call(id, name, input);
    }
    say(...saidLines(added, look()), ...added.parts.flatMap((part) => partLines(part, look())));
  }
  function ended(event: Extract<Event, { type: "turn.ended" }>): void {
    const result = resultRecord(event.turn, event.session, { ...event, answer: "" });
    flow.endAnswer();
    calls.clear();
    say(...errorLines(result, style), style.dim(summaryLine(result)));
  }
  function queued(now: QueuedInput[]): void {
    say(...queueLines(queue, now, look()));
    queue = now;
  }

  return (event) => {
    switch (event.type) {
      case "turn.started":
        return say(style.dim(startLine(event)));
      case "node.added":
        return node(event.node);
      case "text.delta":
        return stream ? flow.delta(event.text) : undefined;
      case "draft.shown":
        return stream && event.key === "text" ? flow.answer(event.text) : undefined;
      case "tool.started":
        return call(event.call, event.name, event.input);
      case "ask.opened":
        return say(...askLines(event.ask, look(), answers));
      case "queue.changed":
        return queued(event.queue);
      case "turn.ended":
        return ended(event);
      default:
        return say(...noticeLines(event, look()));
    }
  };
}

/** An answer that grows, and lines between, each on a line of its own. */
function answerFlow(screen: TextOutput) {
  let streamed = "";
  let midLine = false;
  function endLine(): void {
    if (midLine) screen.write("\n");
    midLine = false;
  }
  function delta(text: string): void {
    if (text === "") return;
    streamed += text;
    screen.write(screen.isTty ? text.replace(controlCharacters, "") : text);
    midLine = !text.endsWith("\n");
  }
  return {
    say(...lines: string[]): void {
      if (lines.length === 0) return;
      endLine();
      screen.write(`${lines.join("\n")}\n`);
    },
    delta,
    /** The answer as far as it is known; what is on the screen already is not written again. */
    answer(whole: string): void {
      if (whole.startsWith(streamed)) return delta(whole.slice(streamed.length));
      endLine();
      streamed = "";
      delta(whole);
    },
    endAnswer(): void {
      endLine();
      streamed = "";
    },
  };
}

const promptBytes = 4096;
const noteBytes = 400;
const excerptBytes = 200;

/** What was said by anyone but the agent. */
function saidLines(node: Node, { style }: LineStyle): string[] {
  const text = textOf(node).trimEnd();
  if (text === "" || node.author === "agent" || node.author === "tool") return [];
  if (node.author === "note") return [style.dim(`  ${stripControls(aboutNote(node))}: ${stripControls(head(text, noteBytes))}`)];
  const lines = cutText(text, promptBytes, { keep: "both" }).text.split("\n");
  return lines.map((line, at) => style.bold(`${at === 0 ? ">" : " "} ${line.replace(controlCharacters, "")}`));
}

function aboutNote({ note }: Node): string {
  return note?.about === "group" ? speakerLabel(note.said) : (note?.about ?? "note");
}

function partLines(part: Part, look: LineStyle): string[] {
  if (part.kind === "result") return resultLines(part, look);
  if (part.kind === "image") return [look.style.dim(`  [image ${stripControls(part.mime)}]`)];
  if (part.kind !== "handle") return [];
  return [
    callLine(part.handle.source, { command: aboutHandle(part.handle) }, look),
    look.style.dim(`  ${stripControls(head(part.excerpt, excerptBytes))}`),
  ];
}

function aboutHandle({ identifier, metadata }: Handle): string {
  return typeof metadata.command === "string" ? metadata.command : identifier;
}

function head(text: string, bytes: number): string {
  return cutText(text, bytes, { keep: "head" }).text;
}
