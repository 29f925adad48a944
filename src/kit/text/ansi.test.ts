import { expect, test } from "bun:test";
import { ansiRuns, stripAnsi } from "./ansi.ts";

test("stripAnsi removes colours, control characters and lone surrogates", () => {
  expect(stripAnsi("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07 a\u0000b\x07 \ud800 \u202Eabc\ttab\nend")).toBe(
    "red link ab \ufffd <U+202E>abc\ttab\nend",
  );
});

test("an overwritten line keeps only its last text", () => {
  expect(stripAnsi("10%\r50%\r100%\ndone\r\nend\r")).toBe("100%\ndone\nend");
});

test("colour sequences become runs of text with a style", () => {
  expect(ansiRuns("a\x1b[1;31mred\x1b[22;39mb\x1b[92;41mc\x1b[md\x1b[2Je")).toEqual([
    { text: "a", style: {} },
    { text: "red", style: { bold: true, color: 1 } },
    { text: "b", style: {} },
    { text: "c", style: { color: 10, background: 1 } },
    { text: "de", style: {} },
  ]);
});

test("palette and RGB sequences become colours", () => {
  const styles = ansiRuns("\x1b[38;5;196ma\x1b[48;2;1;2;300mb\x1b[38;5;244mc\x1b[38;5;3md").map((run) => run.style);
  expect(styles).toEqual([
    { color: "#ff0000" },
    { color: "#ff0000", background: "#0102ff" },
    { color: "#808080", background: "#0102ff" },
    { color: 3, background: "#0102ff" },
  ]);
});

test("ansiRuns does not throw for an incomplete escape sequence", () => {
  for (const text of ["\x1b", "\x1b[", "\x1b[38m", "\x1b[38;2m", "\x1b[999999m", "x\x1b[3"])
    expect(Array.isArray(ansiRuns(text))).toBe(true);
});
