import { expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { countTextTokens } from "./count-tokens.ts";

test("ordinary text has the count of the tokenizer", () => {
  for (const text of ["", "hello", "const a = 1;\n\tif (a) { b(); }\n", "Grüße, 世界 👋🏽", "x".repeat(399)])
    expect(countTextTokens(text)).toBe(text === "" ? 0 : countTokens(text));
});

test("a text that looks like a special token is counted as text", () => {
  expect(countTextTokens("<|endoftext|>")).toBeGreaterThan(1);
});

test("a very long word is counted in pieces, in linear time", () => {
  const word = "a".repeat(1_000_000);
  expect(countTextTokens(word)).toBe(countTokens("a".repeat(400)) * 2_500);
  expect(countTextTokens(" ".repeat(1_000_000))).toBeGreaterThan(0);
  expect(countTextTokens("-".repeat(1_000_000))).toBeGreaterThan(0);
});
