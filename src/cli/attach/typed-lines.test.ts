// Tests typing below streaming output, on a recording screen. test/real/terminal tests it on a real terminal.
import { expect, test } from "bun:test";
import { TypedLines } from "./typed-lines.ts";

function openTypedLines() {
  const written: string[] = [];
  const lines: string[] = [];
  let leaveCount = 0;
  const typed = new TypedLines(
    { isTty: true, columns: 40, color: false, write: (text) => void written.push(text) },
    { label: "> ", onLine: (text) => lines.push(text), onLeave: () => leaveCount++ },
  );
  const takeOutput = () => written.splice(0).join("");
  return { typed, lines, takeOutput, leaveCount: () => leaveCount };
}

test("output is written at once while no text is typed", () => {
  const { typed, takeOutput } = openTypedLines();
  typed.output.write("Hel");
  typed.output.write("lo\n");
  expect(takeOutput()).toBe("Hello\n");
});

test("complete lines of output are written above typed text, and the remainder after Enter", () => {
  const { typed, takeOutput, lines } = openTypedLines();
  typed.output.write("Hel");
  typed.handleInput("go");
  expect(takeOutput()).toBe("Hel\n\r\x1b[J> go\r\x1b[4C");
  typed.output.write("lo");
  expect(takeOutput()).toBe("");
  typed.output.write(" all\nof");
  expect(takeOutput()).toBe("\r\x1b[J\rlo all\n\r\x1b[J> go\r\x1b[4C");
  typed.handleInput(" on\r");
  expect(takeOutput()).toEndWith("> go on\r\x1b[7C\r\nof");
  expect(lines).toEqual(["go on"]);
});

test("deleting the typed text erases the prompt and flushes the output", () => {
  const { typed, takeOutput } = openTypedLines();
  typed.handleInput("x");
  typed.output.write("held");
  takeOutput();
  typed.handleInput("\x7f");
  expect(takeOutput()).toBe("\r\x1b[J\rheld");
});

test("an empty line is ignored, Ctrl-C and Ctrl-D leave, Up recalls the last entry", () => {
  const { typed, lines, leaveCount, takeOutput } = openTypedLines();
  typed.handleInput("\r");
  typed.handleInput("one\r");
  takeOutput();
  typed.handleInput("\x1b[A");
  expect(takeOutput()).toContain("> one");
  typed.handleInput("\x03");
  typed.handleInput("\x7f\x7f\x7f\x04");
  expect(lines).toEqual(["one"]);
  expect(leaveCount()).toBe(2);
});
