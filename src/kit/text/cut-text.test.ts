import { describe, expect, test } from "bun:test";
import { byteLength, pluralize, cutText, decodeUtf8, groupDigits, lastLine, omittedNote, oneLine } from "./cut-text.ts";

const family = "👨‍👩‍👧‍👦";
const flag = "🇩🇪";
const accent = "e\u0301";

describe("cutText", () => {
  test("a text within the limit is returned unchanged", () => {
    expect(cutText("héllo", 6, { keep: "head" })).toEqual({ text: "héllo", cutBytes: 0 });
  });

  const pieces = ["aé漢", family, flag, accent, "\r\n", "\x1b[31mred\x1b[0m", "z".repeat(7)];
  const graphemes = (text: string) => [...new Intl.Segmenter("en", { granularity: "grapheme" }).segment(text)].map((s) => s.segment);
  const sample = [...pieces, ...pieces.toReversed(), flag, flag, flag].join("");

  for (const keep of ["head", "tail"] as const) {
    test(`no cut of the ${keep} splits a character, a cluster, a line ending or an escape sequence`, () => {
      const whole = graphemes(sample);
      for (let max = 0; max <= byteLength(sample); max += 1) {
        const cut = cutText(sample, max, { keep });
        expect(byteLength(cut.text)).toBeLessThanOrEqual(max);
        expect(byteLength(cut.text) + cut.cutBytes).toBe(byteLength(sample));
        const kept = graphemes(cut.text);
        expect(kept).toEqual(keep === "head" ? whole.slice(0, kept.length) : whole.slice(whole.length - kept.length));
        const visible = cut.text.replaceAll("\x1b[31m", "").replaceAll("\x1b[0m", "");
        expect(visible).not.toMatch(/\[|\dm|^m/);
        expect(visible).not.toContain("\x1b");
      }
    });
  }

  test("head and tail with the note about missing bytes stay within the limit", () => {
    const text = `first\n${"x".repeat(5000)}\nlast`;
    const cut = cutText(text, 200, { keep: "both" });
    expect(byteLength(cut.text)).toBeLessThanOrEqual(200);
    expect(cut.text.startsWith("first\n")).toBe(true);
    expect(cut.text.endsWith("\nlast")).toBe(true);
    expect(cut.text).toContain(`\n${omittedNote(cut.cutBytes)}\n`);
  });

  test("the caller can write the note", () => {
    const cut = cutText("a".repeat(300), 100, { keep: "tail", note: (missing) => `(${missing} left out)` });
    expect(cut.text).toBe(`(${cut.cutBytes} left out)\n${"a".repeat(300 - cut.cutBytes)}`);
  });

  test("emoji on both sides of the cut are not split", () => {
    const text = family.repeat(400);
    for (let max = 300; max < 330; max += 1) {
      const cut = cutText(text, max, { keep: "both" });
      const shown = cut.text.replace(/\n?\[.*?\]\n?/, "|").split("|");
      for (const side of shown) expect(side.replaceAll(family, "")).toBe("");
    }
  });

  test("a long sequence of flags is cut between flags", () => {
    for (let max = 8000; max < 8008; max += 1) {
      expect(cutText(flag.repeat(5000), max, { keep: "head" }).text).toBe(flag.repeat(1000));
      expect(cutText(flag.repeat(5000), max, { keep: "tail" }).text).toBe(flag.repeat(1000));
    }
  });

  test("a letter with hundreds of marks is cut between characters instead of being dropped", () => {
    const text = `a${"\u0301".repeat(2000)}`;
    expect(byteLength(cutText(text, 1000, { keep: "head" }).text)).toBeGreaterThan(900);
  });

  test("a lone surrogate does not break the cut", () => {
    expect(cutText(`ab\ud83d${"c".repeat(20)}`, 4, { keep: "head" }).text).toBe("ab");
    expect(cutText(`${"c".repeat(20)}\ude00ab`, 4, { keep: "tail" }).text).toBe("ab");
  });

  test("a text of 10 MB is cut in little memory and time", () => {
    const cut = cutText("漢".repeat(3_500_000), 32_768, { keep: "both" });
    expect(byteLength(cut.text)).toBeLessThanOrEqual(32_768);
    expect(byteLength(cut.text)).toBeGreaterThan(32_700);
  });
});

describe("oneLine", () => {
  const cases: [string, number, string][] = [
    ["a\n  b\tc", 20, "a b c"],
    ["hello world", 8, "hello w…"],
    ["hello world", 11, "hello world"],
    [`ab${family}`, 6, "ab…"],
    ["  \n ", 5, ""],
    ["a\x00\x1b[2Jb", 20, "a [2Jb"],
  ];
  for (const [text, max, expected] of cases) {
    test(`${JSON.stringify(text)} in ${max} is ${JSON.stringify(expected)}`, () => expect(oneLine(text, max)).toBe(expected));
  }
});

test("invalid bytes are decoded as U+FFFD, and a byte order mark stays", () => {
  expect(decodeUtf8(new Uint8Array([0x61, 0xff, 0xe6]))).toBe("a\ufffd\ufffd");
  expect(decodeUtf8(new Uint8Array([0xef, 0xbb, 0xbf, 0x61]))).toBe("\ufeffa");
});

test("groupDigits groups digits in threes", () => {
  expect([0, 999, 1000, 12345, 1234567].map(groupDigits)).toEqual(["0", "999", "1,000", "12,345", "1,234,567"]);
  expect([0, 1, 1000].map((count) => pluralize(count, "line"))).toEqual(["0 lines", "1 line", "1,000 lines"]);
});

test("the last line of an output is the last one with text, cut at 500 characters", () => {
  expect(lastLine("one\n two \n\n")).toBe("two");
  expect(lastLine("")).toBe("");
  expect(lastLine(`first\n${"x".repeat(600)}`)).toHaveLength(500);
});
