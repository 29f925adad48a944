import { expect, test } from "bun:test";
import type { CallPart } from "../../../protocol/tree/node.ts";
import { openAsksForLater, questionsIn } from "./questions.ts";

const call = (input: Record<string, unknown>): CallPart => ({ kind: "call", id: "c", name: "AskUserQuestion", input });
const options = [{ label: "red", description: "warm" }, { label: "blue" }];

test("the questions of a call are read with the labels of their options, and malformed ones are ignored", () => {
  expect(questionsIn(call({ questions: [{ question: "Which?", options }, { question: "Why?" }] }))).toEqual([
    { question: "Which?", options: ["red", "blue"] },
    { question: "Why?", options: [] },
  ]);
  for (const input of [{}, { questions: "Which?" }, { questions: [null, 7, {}, { question: " " }] }])
    expect(questionsIn(call(input))).toEqual([]);
});

test("every question is opened as an ask, and the turn's error names the first", async () => {
  const opened: string[] = [];
  const ask = async ({ question }: { question: string }) => ({ type: "later" as const, ask: `id-0000-${opened.push(question)}` });
  const error = await openAsksForLater({ ask }, [
    { question: "Which?", options: [] },
    { question: "Why?", options: [] },
  ]);
  expect(opened).toEqual(["Which?", "Why?"]);
  expect(error).toEqual({
    kind: "needs-input",
    message: "Which? (and 1 more)",
    hint: 'skein answer d-0000-1 "…"; `skein asks` lists them all',
  });
});
