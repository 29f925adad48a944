import { describe, expect, test } from "bun:test";
import { repairGeminiTranscript } from "./gemini-transcript.ts";

const answer = (id: string) => ({ functionResponse: { id, name: "run_shell_command", response: { output: `of ${id}` } } });
const user = (...content: unknown[]) => ({ type: "user", content });
const called = (...ids: string[]) => ({
  type: "gemini",
  content: "",
  toolCalls: ids.map((id) => ({ id, name: "x", result: [answer(id)] })),
});
const answerText = (text: string) => ({ type: "gemini", content: text });
const stored = (...entries: unknown[]) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
const set = (messages: unknown[]) => ({ $set: { messages, lastUpdated: "now" } });

describe("repairGeminiTranscript", () => {
  test("results that are also stored with their calls are removed", () => {
    const before = stored({ sessionId: "s" }, user({ text: "go" }), called("a", "b"), user(answer("a"), answer("b")), answerText("done"));
    expect(repairGeminiTranscript(before)).toBe(stored({ sessionId: "s" }, user({ text: "go" }), called("a", "b"), answerText("done")));
  });

  test("results that are stored only once are kept, also after a list was replaced", () => {
    const listedCall = { type: "gemini", content: [{ functionCall: { id: "a" } }] };
    const transcript = stored(
      called("a"),
      set([user({ text: "go" }), listedCall, user(answer("a")), answerText("done")]),
      user({ text: "on" }),
    );
    expect(repairGeminiTranscript(transcript)).toBe(transcript);
    const twice = stored(set([user({ text: "go" }), listedCall, user(answer("a")), user(answer("a"))]), called("b"), user(answer("b")));
    expect(repairGeminiTranscript(twice)).toBe(stored(set([user({ text: "go" }), listedCall, user(answer("a"))]), called("b")));
  });

  test("other text is not changed", () => {
    for (const text of [
      "",
      "\n",
      "no json\n",
      stored(user({ text: "go" }), user(answer("")), user()),
      stored([1], { $set: 1 }, { $set: { messages: 1 } }),
    ])
      expect(repairGeminiTranscript(text)).toBe(text);
  });
});
