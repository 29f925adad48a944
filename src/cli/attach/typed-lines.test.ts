// Typing below a stream, on a screen that only remembers. What the terminal makes of it is tried in test/real/terminal.
import { expect, test } from "bun:test";
import { TypedLines } from "./typed-lines.ts";

function typing() {
  const written: string[] = [];
  const lines: string[] = [];
  let left = 0;
  const typed = new TypedLines(
    { isTty: true, columns: 40, color: false, write: (text) => void written.push(text) },
    { label: "> ", onLine: (text) => lines.push(text), onLeave: () => left++ },
  );
  const take = () => written.splice(0).join("");
  return { typed, lines, take, left: () => left };
}

test("while nothing is typed the stream flows as it comes", () => {
  const { typed, take } = typing();
  typed.screen.write("Hel");
  typed.screen.write("lo\n");
  expect(take()).toBe("Hello\n");
});

test("while something is typed whole lines go above it, and the rest waits until it is entered", () => {
  const { typed, take, lines } = typing();
  typed.screen.write("Hel");
  typed.handleInput("go");
  expect(take()).toBe("Hel\n\r\x1b[J> go\r\x1b[4C");
  typed.screen.write("lo");
  expect(take()).toBe("");
  typed.screen.write(" all\nof");
  expect(take()).toBe("\r\x1b[J\rlo all\n\r\x1b[J> go\r\x1b[4C");
  typed.handleInput(" on\r");
  expect(take()).toEndWith("> go on\r\x1b[7C\r\nof");
  expect(lines).toEqual(["go on"]);
});

test("what is deleted again leaves nothing behind", () => {
  const { typed, take } = typing();
  typed.handleInput("x");
  typed.screen.write("held");
  take();
  typed.handleInput("\x7f");
  expect(take()).toBe("\r\x1b[J\rheld");
});

test("an empty line is none, Ctrl-C and Ctrl-D leave, Up brings back what was entered", () => {
  const { typed, lines, left, take } = typing();
  typed.handleInput("\r");
  typed.handleInput("one\r");
  take();
  typed.handleInput("\x1b[A");
  expect(take()).toContain("> one");
  typed.handleInput("\x03");
  typed.handleInput("\x7f\x7f\x7f\x04");
  expect(lines).toEqual(["one"]);
  expect(left()).toBe(2);
});
