// Readers for programs that print no events, but the answer itself or one JSON value that contains it. The exit code
// decides whether the turn succeeded.
import { stripAnsi } from "../../../../kit/text/ansi.ts";
import { Excerpt } from "../../../../kit/text/excerpt.ts";
import { isRecord, type Json } from "../../../../kit/text/json.ts";
import { textAt } from "../../../../models/wire/json.ts";
import type { CliEvent, CliReader } from "../adapter.ts";
import { garbageEvent, parseJsonLine } from "./json-line.ts";

/** A longer answer is cut to its first and its last 512 KiB. */
const maxAnswerBytes = 1 << 20;
const maxJsonChars = 16 << 20;

/** `session` is the id that skein chose. It is reported with the first line of output. */
export function textReader(session: string | null): CliReader {
  const answer = new Excerpt(maxAnswerBytes / 2, maxAnswerBytes / 2);
  const encoder = new TextEncoder();
  let isFirst = true;
  return {
    readsBlankLines: true,
    line: (line) => {
      const text = `${stripAnsi(line)}\n`;
      const before = isFirst ? sessionEvent(session) : [];
      isFirst = false;
      answer.push(encoder.encode(text));
      // The rest of an answer that is too long is not shown.
      return answer.bytes > maxAnswerBytes ? before : [...before, { type: "text.delta", text }];
    },
    end: () => answerEvent(answer.text().text.trim()),
  };
}

export function jsonReader(session: string | null): CliReader {
  const lines: string[] = [];
  let size = 0;
  return {
    line: (line) => {
      size += line.length;
      if (size > maxJsonChars) return garbageEvent(line);
      lines.push(line);
      return [];
    },
    end: () => {
      const value = parseValue(lines);
      return value === undefined ? lines.flatMap(garbageEvent) : readValue(value, session);
    },
  };
}

/** Parses the lines after leading notices as one value, else the last line. Undefined if neither is an object or a list. */
function parseValue(lines: string[]): unknown {
  const start = lines.findIndex((line) => /^\s*[[{]/.test(line));
  const values = [lines.slice(start).join("\n"), lines.at(-1) ?? ""].map(parseJsonLine);
  return values.find((value) => isRecord(value) || Array.isArray(value));
}

function readValue(value: unknown, session: string | null): CliEvent[] {
  const objects = (Array.isArray(value) ? value : [value]).filter(isRecord);
  const id = objects.map(sessionIn).findLast((text) => text !== "") || session;
  const text = objects.map(answerIn).findLast((answer) => answer !== "") ?? "";
  const failure = objects.map(failureIn).findLast((message) => message !== "");
  const events = [...sessionEvent(id), ...answerEvent(text)];
  return failure === undefined ? events : [...events, { type: "failed", message: failure === "true" ? text : failure }];
}

function sessionEvent(id: string | null): CliEvent[] {
  return id === null ? [] : [{ type: "session", id }];
}

function answerEvent(text: string): CliEvent[] {
  return text === "" ? [] : [{ type: "answer", parts: [{ kind: "text", text }] }];
}

const sessionKeys = ["session_id", "thread_id", "sessionID", "sessionId"];

function sessionIn(value: Json): string {
  return sessionKeys.map((key) => textAt(value, key)).find((id) => id !== "") ?? "";
}

const answerKeys = ["result", "response", "text", "message", "content"];

function answerIn(value: unknown): string {
  if (typeof value === "string") return value.trim();
  if (Array.isArray(value))
    return value
      .map(answerIn)
      .filter((text) => text !== "")
      .join("\n");
  if (!isRecord(value)) return "";
  return answerKeys.map((key) => answerIn(value[key])).find((text) => text !== "") ?? "";
}

/** Returns "true" if the answer itself is the error message, and "" without an error. */
function failureIn(value: Json): string {
  const { error } = value;
  if (typeof error === "string" && error !== "") return error;
  if (isRecord(error)) return textAt(error, "message") || JSON.stringify(error);
  return value["is_error"] === true || error === true ? "true" : "";
}
