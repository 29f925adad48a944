import { describe, expect, test } from "bun:test";
import { toPrintedJson } from "../../protocol/json/json-case.ts";
import { resultLines } from "./event-lines.ts";
import { jsonText } from "./json.ts";
import { stripControls, showsUnicode, styleOf } from "../terminal/style.ts";
import { cutToWidth, tableText } from "../terminal/table.ts";

describe("style", () => {
  test("text is painted only on a screen with colours", () => {
    expect(styleOf({ color: true }).red("x")).toBe("\x1b[31mx\x1b[39m");
    expect(styleOf({ color: false }).red("x")).toBe("x");
  });

  test("stripControls removes escape sequences and control characters", () => {
    expect(stripControls("a\x1b[2J\x1b]0;title\x07b\r\nc\x00\x9b31md\u202Ee")).toBe("ab cd<U+202E>e");
  });

  test("Unicode marks are used only with a UTF-8 locale", () => {
    expect(showsUnicode({ LANG: "en_US.UTF-8" })).toBe(true);
    expect(showsUnicode({ LC_ALL: "C", LANG: "en_US.UTF-8" })).toBe(false);
    expect(showsUnicode({ LC_ALL: "", LC_CTYPE: "C.utf8" })).toBe(true);
    expect(showsUnicode({})).toBe(false);
  });
});

describe("table", () => {
  test("a table aligns columns by display width", () => {
    const rows = [
      ["a", "1", "x"],
      ["日本", "200", "\x1b[31mred\x1b[39m"],
    ];
    expect(tableText(rows, { columns: [{ title: "N" }, { title: "COUNT", align: "right" }, {}] })).toBe(
      "N     COUNT\na         1  x\n日本    200  \x1b[31mred\x1b[39m\n",
    );
  });

  test("a table cuts the last column to the width, with an ellipsis", () => {
    expect(tableText([["key", "a long text that goes on"]], { columns: [{}, {}], width: 20 })).toBe("key  a long text th…\n");
    expect(cutToWidth("日本語", 4)).toBe("日…");
    expect(cutToWidth("short", 5)).toBe("short");
  });

  test("a table without rows is empty", () => {
    expect(tableText([], { columns: [{ title: "A" }] })).toBe("");
  });
});

describe("json", () => {
  test("keys are snake_case and times are ISO, at every depth", () => {
    const value = { costUsd: 1, createdAt: 0, endedAt: null, rows: [{ cacheRead: 2, baseUrl: "x" }], sha256: "y", at: 1_000 };
    expect(toPrintedJson(value)).toEqual({
      cost_usd: 1,
      created_at: "1970-01-01T00:00:00.000Z",
      ended_at: null,
      rows: [{ cache_read: 2, base_url: "x" }],
      sha256: "y",
      at: "1970-01-01T00:00:01.000Z",
    });
  });

  test("keys inside of tool input and configuration values keep their spelling", () => {
    expect(toPrintedJson({ input: { filePath: "x", changedAt: 5 }, value: { "X-Team": "y" } })).toEqual({
      input: { filePath: "x", changedAt: 5 },
      value: { "X-Team": "y" },
    });
  });

  test("a document ends with a line end", () => {
    expect(jsonText([])).toBe("[]\n");
  });
});

test("the reason of a failed call uses the whole line, and leaves room for the number of lines only if some are omitted", () => {
  const lineStyle = { style: styleOf({ color: false }), columns: 80 };
  const fail = (text: string) => resultLines({ kind: "result", call: "c", name: "edit", text, isError: true }, lineStyle)[0] ?? "";
  const reason = 'edit: unknown parameter "old"; did you mean "old_text"? It has path and new_text';
  expect(fail(reason.slice(0, 74))).toBe(`  ✗ ${reason.slice(0, 74)}`);
  const long = fail([...Array.from({ length: 12 }, (_, index) => `line ${index}`), "x".repeat(200)].join("\n"));
  expect([long.length, long.endsWith("… (last 10 of 12 lines)")]).toEqual([79, true]);
});
