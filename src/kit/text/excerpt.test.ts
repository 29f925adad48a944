import { expect, test } from "bun:test";
import { Excerpt } from "./excerpt.ts";
import { byteLength } from "./cut-text.ts";

function excerptOf(bytes: Uint8Array, head: number, tail: number, chunk: number) {
  const excerpt = new Excerpt(head, tail);
  for (let at = 0; at < bytes.length; at += chunk) excerpt.push(bytes.subarray(at, at + chunk));
  return excerpt.text();
}

test("a stream within the limits is returned completely, in chunks of any size", () => {
  const text = "één\n漢字\n".repeat(200);
  const bytes = new TextEncoder().encode(text);
  for (const chunk of [1, 7, 1000, 1e6]) expect(excerptOf(bytes, 1000, 3000, chunk)).toEqual({ text, cutBytes: 0 });
});

test("head and tail of a long stream are exact, and the missing bytes are counted", () => {
  const bytes = new Uint8Array(300_000).map((_, index) => 97 + (index % 26));
  const whole = new TextDecoder().decode(bytes);
  for (const chunk of [100, 4096, 150_000, 300_000]) {
    const { text, cutBytes } = excerptOf(bytes, 800, 2400, chunk);
    const [head, , tail] = text.split("\n") as [string, string, string];
    expect(byteLength(text)).toBeLessThanOrEqual(3200);
    expect(whole.startsWith(head)).toBe(true);
    expect(whole.endsWith(tail)).toBe(true);
    expect(head.length + tail.length + cutBytes).toBe(300_000);
    expect(head.length).toBe(800);
  }
});

test("emoji at both cuts are not split, at any alignment", () => {
  const family = "👨‍👩‍👧‍👦";
  for (let shift = 0; shift < 26; shift += 1) {
    const bytes = new TextEncoder().encode("x".repeat(shift) + family.repeat(1000) + "y".repeat(shift));
    const { text } = excerptOf(bytes, 200, 600, 333);
    expect(text.replaceAll(family, "")).toMatch(/^x*\n\[\.\.\. [\d,]+ bytes not shown \.\.\.\]\ny*$/);
  }
});

test("invalid bytes stay within the limit, though each becomes three bytes", () => {
  const { text } = excerptOf(new Uint8Array(5000).fill(0xff), 1000, 3000, 512);
  expect(byteLength(text)).toBeLessThanOrEqual(4000);
  expect(byteLength(excerptOf(new Uint8Array(3000).fill(0xff), 1000, 3000, 512).text)).toBeLessThanOrEqual(4000);
});
