// Tests key decoding, line editing and the layout of a prompt.
import { describe, expect, test } from "bun:test";
import { editActions, emptyEditLine, insertText, moveRow } from "../../kit/text/line-edit.ts";
import { keyDecoder } from "./keys.ts";
import { visiblePart, layOutText } from "../../kit/text/text-layout.ts";
import { repaint } from "./prompt-painter.ts";

const line = (text: string, cursor = text.length) => ({ text, cursor });

describe("keys", () => {
  const names = (text: string) => keyDecoder()(text).map((key) => key.name);
  test("several keys in one piece of input are decoded", () => {
    expect(names("\x1b[D\x1bOA\x1b[1;5D\x1b\r\t\x7f\x1b[3~\x1b[1~\x1b[4~\x03\x04")).toEqual([
      "left",
      "up",
      "word-left",
      "newline",
      "complete",
      "backspace",
      "delete",
      "home",
      "end",
      "stop",
      "leave",
    ]);
  });
  test("a key that arrives in pieces is decoded when it is complete", () => {
    const decode = keyDecoder();
    expect(decode("a\x1b")).toEqual([{ name: "text", text: "a" }]);
    expect(decode("[")).toEqual([]);
    expect(decode("1;5")).toEqual([]);
    expect(decode("Cb")).toEqual([{ name: "word-right" }, { name: "text", text: "b" }]);
  });
  test("a paste is one text with its line breaks, and nothing in it is a key", () => {
    const decode = keyDecoder();
    expect(decode("\x1b[200~one\rtwo\x03")).toEqual([]);
    expect(decode("\r\n\x1b[201~\r")).toEqual([{ name: "paste", text: "one\ntwo\x03\n" }, { name: "enter" }]);
  });
  test("unknown keys are decoded as other", () => {
    expect(names("\x1b[99~\x1bz\x1b[é")).toEqual(["other", "other", "other", "text"]);
  });
});

describe("a line", () => {
  test("a line is edited by grapheme clusters", () => {
    const text = "a日👩‍🚀e\u0301";
    expect(editActions.backspace(line(text)).text).toBe("a日👩‍🚀");
    expect(editActions.backspace(editActions.left(line(text))).text).toBe("a日e\u0301");
    expect(editActions.delete(line(text, 1)).text).toBe("a👩‍🚀e\u0301");
    expect(editActions.left(emptyEditLine)).toEqual(emptyEditLine);
    expect(editActions.right(line("ab"))).toEqual(line("ab"));
  });
  test("words and both ends of a line can be deleted", () => {
    expect(editActions["kill-word"](line("one two  ")).text).toBe("one ");
    expect(editActions["kill-start"](line("a\nbc d", 4))).toEqual(line("a\n d", 2));
    expect(editActions["kill-end"](line("ab\ncd", 1))).toEqual(line("a\ncd", 1));
    expect(editActions["word-right"](line("one two", 0)).cursor).toBe(3);
  });
  test("the cursor moves by rows, and null means that there is no such row", () => {
    const text = line("long row\nab\nthird", 6);
    const down = moveRow(text, 1);
    expect(down?.cursor).toBe(11);
    expect(moveRow(down ?? text, 1)?.cursor).toBe(14);
    expect(moveRow(text, -1)).toBeNull();
    expect(moveRow(line("x"), 1)).toBeNull();
    expect(insertText(line("ac", 1), "b")).toEqual(line("abc", 2));
  });
});

describe("a layout", () => {
  test("a wide character that does not fit wraps to the next row", () => {
    expect(layOutText("> ", line("abc日本"), 6)).toEqual({ rows: ["> abc", "日本"], cursor: { row: 1, column: 4 } });
    expect(layOutText("> ", line("abc日", 3), 6).cursor).toEqual({ row: 1, column: 0 });
  });
  test("the cursor after a full row is on the next row", () => {
    expect(layOutText("> ", line("abcd"), 6)).toEqual({ rows: ["> abcd", ""], cursor: { row: 1, column: 0 } });
  });
  test("the rows of a multi-line text are indented", () => {
    expect(layOutText("> ", line("a\nb", 1), 20)).toEqual({ rows: ["> a", "  b"], cursor: { row: 0, column: 3 } });
  });
  test("only the rows around the cursor are visible on a small screen", () => {
    const tall = layOutText("> ", line("1\n2\n3\n4\n5"), 20);
    expect(visiblePart(tall, 2)).toEqual({ rows: ["  4", "  5"], cursor: { row: 1, column: 3 } });
  });
  test("a layout is painted over the previous one", () => {
    const first = layOutText("> ", line("a\nb"), 20);
    expect(repaint(first, layOutText("> ", line("x"), 20))).toBe("\x1b[1A\r\x1b[J> x\r\x1b[3C");
  });
});
