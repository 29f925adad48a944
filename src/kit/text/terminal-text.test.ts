import { expect, test } from "bun:test";
import { printable, printableText, safeForTerminal, stripControls } from "./terminal-text.ts";

const hostile = "a\x1b]52;c;eA==\x07b\x1b[2Jc\x9bnd\u202Ee\u2066f\u200Fg\u061Ch\ti\nj\r";
const shown = "abcd<U+202E>e<U+2066>f<U+200F>g<U+061C>h";

test("escape sequences and control characters are removed, and directions are shown", () => {
  expect(printableText(hostile)).toBe(`${shown}\ti\nj`);
  expect(printable(hostile)).toBe(`${shown}ij`);
  expect(stripControls(hostile)).toBe(`${shown} i j `);
});

test("skein's own sequences pass to a terminal, and all others lose their effect", () => {
  const own = "\r\x1b[1;31mred\x1b[0m\x1b[2A\x1b[J\x1b[K\x1b[12G\x1b[H\x1b[2J\x1b[?2004h\x1b[?2004l\n\t";
  expect(safeForTerminal(own)).toBe(own);
  const foreign = [
    "\x1b]0;t\x07",
    "\x1bP1\x1b\\",
    "\x1b[6n",
    "\x1b[c",
    "\x1b[?1049h",
    "\x1b[21t",
    "\x1bc",
    "\x1b",
    "\x9d0;t\x9c",
    "\x07\x08\x0e",
  ];
  for (const text of foreign) expect(safeForTerminal(text)).not.toMatch(/[\p{Cc}]/u);
  expect(safeForTerminal("x\u202Ey")).toBe("x<U+202E>y");
});
