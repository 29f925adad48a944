// Readers for programs that print no events: the answer itself, or one JSON value that holds it. Whether it is an
// answer is for the exit to say.
import { stripAnsi } from "../../../../kit/text/ansi.ts";
import { Excerpt } from "../../../../kit/text/excerpt.ts";
import { isJson, type Json, textAt } from "../../../../models/wire/json.ts";
import type { CliEvent, CliReader } from "../adapter.ts";
import { garbageEvent, parseJsonLine } from "./json-line.ts";

/** Half of it is the head, half the tail. */
const longestAnswer = 1 << 20;
const longestJson = 16 << 20;

/** `session` is the id that it was given, told when it first says something. */
export function textReader(session: string | null): CliReader {
  const said = new Excerpt(longestAnswer / 2, longestAnswer / 2);
  const encoder = new TextEncoder();
  let isFirst = true;
  return {
    wantsBlank: true,
    line: (line) => {
      const text = `${stripAnsi(line)}\n`;
      const before = isFirst ? sessionEvent(session) : [];
      isFirst = false;
      said.push(encoder.encode(text));
      // Whoever watches has seen enough by then.
      return said.bytes > longestAnswer ? before : [...before, { type: "text.delta", text }];
    },
    end: () => answer(said.text().text.trim()),
  };
}

export function jsonReader(session: string | null): CliReader {
  const lines: string[] = [];
  let size = 0;
  return {
    line: (line) => {
      size += line.length;
      if (size > longestJson) return garbageEvent(line);
      lines.push(line);
      return [];
    },
    end: () => {
      const value = valueIn(lines);
      return value === undefined ? lines.flatMap(garbageEvent) : readValue(value, session);
    },
  };
}

/** All of it, or what follows notices, or the last line. */
function valueIn(lines: string[]): unknown {
  const whole = parseJsonLine(lines.join("\n"));
  if (isValue(whole)) return whole;
  const start = lines.findIndex((line) => /^\s*[[{]/.test(line));
  const rest = start === -1 ? undefined : parseJsonLine(lines.slice(start).join("\n"));
  if (isValue(rest)) return rest;
  const last = parseJsonLine(lines.findLast((line) => line.trim() !== "") ?? "");
  return isValue(last) ? last : undefined;
}

function isValue(value: unknown): value is Json | unknown[] {
  return isJson(value) || Array.isArray(value);
}

function readValue(value: unknown, session: string | null): CliEvent[] {
  const objects = (Array.isArray(value) ? value : [value]).filter(isJson);
  const id = objects.map(sessionIn).findLast((each) => each !== "") || session;
  const text = objects.map(answerIn).findLast((each) => each !== "") ?? "";
  const failure = objects.map(failureIn).findLast((each) => each !== "");
  if (failure !== undefined)
    return [...sessionEvent(id), ...answer(text), { type: "failed", message: failure === "true" ? text : failure }];
  return [...sessionEvent(id), ...answer(text)];
}

function sessionEvent(id: string | null): CliEvent[] {
  return id === null ? [] : [{ type: "session", id }];
}

function answer(text: string): CliEvent[] {
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
  if (!isJson(value)) return "";
  return answerKeys.map((key) => answerIn(value[key])).find((text) => text !== "") ?? "";
}

/** "true" when the answer itself is the message. */
function failureIn(value: Json): string {
  const { error } = value;
  if (typeof error === "string" && error !== "") return error;
  if (isJson(error)) return textAt(error, "message") || JSON.stringify(error);
  return value["is_error"] === true || error === true ? "true" : "";
}
