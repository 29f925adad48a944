// Renders a session as lines of text: messages, calls, ends of turns, and text that is streaming now.
import { cutText, oneLine } from "../../kit/text/cut-text.ts";
import type { Api } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { speakerLabel } from "../../protocol/team/group.ts";
import { findRunningTurn } from "./follow-turn.ts";
import { readOpenCalls, type OpenCalls } from "./open-calls.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";

export type SessionLog = { state: string; seq: number; lines: string[] };

/** A new watcher gets the streaming text at once, so there is no need to wait longer for it. */
const streamMs = 300;

export async function readSessionLog(api: Api, session: Session, afterSeq: number): Promise<SessionLog> {
  const running = await findRunningTurn(api, session);
  const until = running === undefined ? "now" : "idle";
  const events = api.turn.watch({ session: session.id, afterSeq, until })[Symbol.asyncIterator]();
  const log: SessionLog = { state: running?.state ?? "idle", seq: afterSeq, lines: [] };
  const calls = await readOpenCalls(api, running?.turn ?? null);
  const timeout = Bun.sleep(streamMs).then(() => null);
  for (;;) {
    const next = await (until === "now" ? events.next() : Promise.race([events.next(), timeout]));
    if (next === null) void events.return?.();
    if (next === null || next.done === true) return log;
    log.seq = Math.max(log.seq, next.value.seq);
    log.lines.push(...eventLines(next.value, calls));
  }
}

function eventLines(event: Event, calls: OpenCalls): string[] {
  switch (event.type) {
    case "turn.started":
      return [`[${[event.turn.agent, event.turn.model].filter((name) => name !== null).join(" ")} started]`];
    case "node.added":
      return nodeLines(event.node);
    case "turn.ended": {
      const { agent, status, error } = event.turn;
      return [`[${agent} ended: ${status ?? "unknown"}${error === null ? "" : `, ${error.message}`}]`];
    }
    case "ask.opened":
      return [`asks: ${event.ask.question}`];
    case "ask.closed":
      return [`answered: ${event.ask.answer ?? event.ask.outcome ?? ""}`];
    case "draft.shown":
      return event.text.split("\n").map((line) => `${draftLabel(event.key, calls)}${line}`);
    default:
      return [];
  }
}

/** The output of a running tool has the tool's name in front. */
function draftLabel(key: string, calls: OpenCalls): string {
  return key === "text" ? "" : `${calls.get(key)?.name ?? (key === "thinking" ? key : "tool")}: `;
}

export function nodeLines(node: Node): string[] {
  const speaker = node.note?.about === "group" ? speakerLabel(node.note.said) : node.note?.about === "team" ? "team" : node.author;
  return node.parts.flatMap((part) => partText(part, speaker).split("\n"));
}

const maxResultBytes = 2_000;

function partText(part: Part, speaker: string): string {
  switch (part.kind) {
    case "text":
      return `${speaker}: ${part.text}`;
    case "thinking":
      return `thinking: ${oneLine(part.text, 200)}`;
    case "call":
      return `> ${part.name} ${oneLine(part.malformed ?? JSON.stringify(part.input), 400)}`;
    case "result":
      return `${part.isError ? "failed: " : ""}${cutText(part.text, maxResultBytes, { keep: "both" }).text}`;
    case "image":
      return `[image ${part.mime}]`;
    case "handle":
      return `[${part.handle.source} ${part.handle.identifier}]`;
  }
}
