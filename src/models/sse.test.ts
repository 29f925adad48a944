import { describe, expect, test } from "bun:test";
import { SseParser } from "./sse.ts";
import type { ServerEvent } from "./model.ts";

const encoder = new TextEncoder();

function parse(text: string, size = Number.POSITIVE_INFINITY): ServerEvent[] {
  const parser = new SseParser();
  const bytes = encoder.encode(text);
  const events: ServerEvent[] = [];
  for (let start = 0; start < bytes.length; start += size) events.push(...parser.push(bytes.subarray(start, start + size)));
  return [...events, ...parser.end()];
}

describe("the parser of server-sent events", () => {
  const table: [string, string, ServerEvent[]][] = [
    ["one event", "event: a\ndata: 1\n\n", [{ event: "a", data: "1" }]],
    [
      "no event name",
      "data: 1\n\ndata: 2\n\n",
      [
        { event: "", data: "1" },
        { event: "", data: "2" },
      ],
    ],
    ["several data lines", "data: a\ndata: b\n\n", [{ event: "", data: "a\nb" }]],
    ["an empty data line", "data\n\n", [{ event: "", data: "" }]],
    ["comments", ": ping\n\ndata: 1\n: x\n\n", [{ event: "", data: "1" }]],
    ["no space after the colon", "data:1\n\n", [{ event: "", data: "1" }]],
    ["two spaces after the colon", "data:  1\n\n", [{ event: "", data: " 1" }]],
    ["unknown fields", "id: 7\nretry: 10\ndata: 1\n\n", [{ event: "", data: "1" }]],
    ["a name without data", "event: a\n\ndata: 1\n\n", [{ event: "", data: "1" }]],
    ["a last event without its blank line", "data: 1", [{ event: "", data: "1" }]],
    ["a byte order mark", "\uFEFFdata: 1\n\n", [{ event: "", data: "1" }]],
    ["colons in data", 'data: {"a":1}\n\n', [{ event: "", data: '{"a":1}' }]],
    ["characters of four bytes", "data: 🧶é漢\n\n", [{ event: "", data: "🧶é漢" }]],
    ["line separators that end no line", "data: a\u2028b\u0085c\n\n", [{ event: "", data: "a\u2028b\u0085c" }]],
  ];
  for (const [title, text, expected] of table) {
    test(`the parser reads ${title}, with LF, CRLF and CR, in chunks of every size`, () => {
      for (const end of ["\n", "\r\n", "\r"]) {
        const bytes = text.replaceAll("\n", end);
        for (const size of [1, 2, 3, 5, 1000]) expect(parse(bytes, size)).toEqual(expected);
      }
    });
  }

  test("mixed line ends in one stream are read", () => {
    expect(parse("data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\r", 1)).toEqual([
      { event: "", data: "a\nb\nc" },
      { event: "", data: "d" },
    ]);
  });

  test("invalid UTF-8 becomes replacement characters", () => {
    const parser = new SseParser();
    const events = parser.push(new Uint8Array([...encoder.encode("data: a"), 0xff, 0xfe, ...encoder.encode("b\n\n")]));
    expect(events).toEqual([{ event: "", data: "a\uFFFD\uFFFDb" }]);
  });

  test("a line above the limit sets `overflowed` and frees its memory", () => {
    const parser = new SseParser(100);
    expect(parser.push(encoder.encode("data: ok\n\n"))).toHaveLength(1);
    for (let i = 0; i < 10; i += 1) expect(parser.push(encoder.encode("x".repeat(30)))).toEqual([]);
    expect(parser.overflowed).toBe(true);
    expect(parser.push(encoder.encode("\n\ndata: 1\n\n"))).toEqual([]);
    expect(parser.end()).toEqual([]);
  });

  test("an event with endless data lines sets `overflowed` too", () => {
    const parser = new SseParser(100);
    for (let i = 0; i < 20; i += 1) parser.push(encoder.encode("data: 0123456789\n"));
    expect(parser.overflowed).toBe(true);
  });
});
