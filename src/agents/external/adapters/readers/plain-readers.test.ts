// Readers for programs that print plain text or one JSON value instead of events.
import { describe, expect, test } from "bun:test";
import type { CliEvent, CliReader } from "../adapter.ts";
import { jsonReader, textReader } from "./plain-readers.ts";

function read(reader: CliReader, text: string): CliEvent[] {
  return [...text.split("\n").flatMap((line) => reader.line(line)), ...reader.end()];
}

function answerOf(events: CliEvent[]): string | null {
  const answer = events.find((event) => event.type === "answer");
  const part = answer?.type === "answer" ? answer.parts[0] : undefined;
  return part?.kind === "text" ? part.text : null;
}

describe("text", () => {
  test("text is shown line by line and is the answer, with blank lines and without colours", () => {
    const events = read(textReader(null), "\u001b[32mone\u001b[0m\n\n  two");
    expect(events).toEqual([
      { type: "text.delta", text: "one\n" },
      { type: "text.delta", text: "\n" },
      { type: "text.delta", text: "  two\n" },
      { type: "answer", parts: [{ kind: "text", text: "one\n\n  two" }] },
    ]);
  });

  test("the chosen session is reported once", () => {
    expect(read(textReader("s-1"), "a\nb").filter((event) => event.type === "session")).toEqual([{ type: "session", id: "s-1" }]);
  });

  test("empty output is no answer", () => {
    expect(textReader("s-1").end()).toEqual([]);
    expect(read(textReader(null), " \n ").some((event) => event.type === "answer")).toBe(false);
  });

  test("the beginning and the end of a long answer are kept", () => {
    const reader = textReader(null);
    const line = "x".repeat(99_999);
    const deltas = Array.from({ length: 40 }, (_, index) => reader.line(index === 39 ? "the end" : line)).flat();
    const answer = answerOf(reader.end()) ?? "";
    expect(answer.length).toBeLessThan(1_100_000);
    expect(answer.endsWith("the end")).toBe(true);
    expect(answer).toMatch(/bytes/);
    expect(deltas.length).toBeLessThan(12);
  });
});

describe("JSON", () => {
  test.each([
    ['{"result":"yes"}', "yes"],
    ['{"response":"yes","stats":{}}', "yes"],
    ['{"text":"yes"}', "yes"],
    ['{"message":{"content":[{"type":"text","text":"yes"},{"type":"text","text":"and no"}]}}', "yes\nand no"],
    ['{"content":"yes"}', "yes"],
    ['[{"text":"first"},{"result":"yes"}]', "yes"],
    ['{\n  "result": "yes"\n}', "yes"],
    ['Warning: something\n{"result":"yes"}', "yes"],
    ['[info] something\n{"result":"yes"}', "yes"],
    ['{"other":1}', null],
    ["not JSON at all", null],
  ])("the output %j has the answer %j", (text, answer) => {
    expect(answerOf(read(jsonReader(null), text))).toBe(answer);
  });

  test.each([["session_id"], ["thread_id"], ["sessionID"], ["sessionId"]])("the session is read from %s", (key) => {
    const events = read(jsonReader(null), JSON.stringify({ [key]: "s-1", result: "yes" }));
    expect(events[0]).toEqual({ type: "session", id: "s-1" });
  });

  test("the chosen session is used if the output names none", () => {
    expect(read(jsonReader("given"), '{"result":"yes"}')[0]).toEqual({ type: "session", id: "given" });
  });

  test.each([
    ['{"error":"it broke"}', "it broke"],
    ['{"error":{"message":"no key","code":401}}', "no key"],
    ['{"is_error":true,"result":"it broke"}', "it broke"],
  ])("the output %j is a failure", (text, message) => {
    expect(read(jsonReader(null), text).at(-1)).toEqual({ type: "failed", message });
  });

  test("output that is not JSON is garbage", () => {
    expect(read(jsonReader(null), "one\ntwo").map((event) => event.type)).toEqual(["garbage", "garbage"]);
  });
});
