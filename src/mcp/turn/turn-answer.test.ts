// Tests which answers are too long, with a real tokenizer.
import { expect, test } from "bun:test";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { shortenAnswer } from "./turn-answer.ts";

const session = { id: "s", transcript: null } as unknown as Session;
const turn = { id: "t" } as unknown as Turn;

test("an answer of up to 10,000 tokens is returned unchanged", async () => {
  for (const text of [`<|endoftext|> ${"word ".repeat(9_000)}`, "a".repeat(60_000), " ".repeat(100_000)])
    expect(await shortenAnswer(text, session, turn)).toEqual({ text, file: null });
});

test("a longer answer is shortened and names the command that shows all of it", async () => {
  const { text } = await shortenAnswer(`begin ${"word ".repeat(12_000)} end`, session, turn);
  expect(text.length).toBeLessThan(24_100);
  expect(text).toContain("the full answer: skein show s");
});
