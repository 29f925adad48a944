// The tokenizer behind its bounds.
import { expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { countTextTokens } from "./count-tokens.ts";

test("ordinary text has the tokenizer's own count", () => {
  for (const text of ["", "hello", "const a = 1;\n\tif (a) { b(); }\n", "Grüße, 世界 👋🏽", "x".repeat(399)])
    expect(countTextTokens(text)).toBe(text === "" ? 0 : countTokens(text));
});

test("a text that looks like a token with a meaning is text", () => {
  expect(countTextTokens("<|endoftext|>")).toBeGreaterThan(1);
});

test("a word without an end is counted in pieces, not in the square of its length", () => {
  const word = "a".repeat(1_000_000);
  expect(countTextTokens(word)).toBe(countTokens("a".repeat(400)) * 2_500);
  expect(countTextTokens(" ".repeat(1_000_000))).toBeGreaterThan(0);
  expect(countTextTokens("-".repeat(1_000_000))).toBeGreaterThan(0);
});
