import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userMessage, doneOf, failedOf, joined } from "../../test/fixtures/streams/serve.ts";
import { Fault } from "../protocol/api/error.ts";
import type { ModelEvent, ModelRequest } from "./model.ts";
import { loadScript, replayModel, type ReplayScript } from "./replay-model.ts";

const directory = mkdtempSync(join(tmpdir(), "replay-"));
afterAll(() => rmSync(directory, { recursive: true }));

const script: ReplayScript = {
  steps: [
    {
      thinking: "Let me  look.",
      text: " I'll look\n\tthere. ",
      calls: [{ name: "bash", input: { command: "ls" } }, { name: "read" }],
      usage: { input: 10, cacheRead: 3 },
    },
    { text: "Done 🧶." },
    { text: "Half", error: { kind: "overloaded", message: "busy" } },
    { text: "slow words", delayMs: 60_000 },
  ],
};

async function play(answers: number, from = script, signal = new AbortController().signal): Promise<ModelEvent[]> {
  const before: ModelRequest["messages"] = Array.from({ length: answers }, () => [
    userMessage("q"),
    { role: "assistant" as const, parts: [] },
  ]).flat();
  const request: ModelRequest = {
    model: "x",
    effort: null,
    system: "",
    tools: [],
    messages: [...before, userMessage("q")],
    cacheKey: "",
    maxOutputTokens: null,
  };
  const events: ModelEvent[] = [];
  for await (const event of replayModel(from, request, { signal })) events.push(event);
  return events;
}

describe("replayModel", () => {
  test("a step is streamed word by word and ends with the whole answer", async () => {
    const events = await play(0);
    const done = doneOf(events);
    expect(joined(events, "thinking.delta")).toBe("Let me  look.");
    expect(joined(events, "text.delta")).toBe(" I'll look\n\tthere. ");
    expect(events.filter(({ type }) => type === "text.delta").length).toBeGreaterThan(2);
    expect(done).toEqual({
      type: "done",
      stop: "calls",
      usage: { input: 10, output: 0, cacheRead: 3, cacheWrite: 0 },
      parts: [
        { kind: "thinking", text: "Let me  look." },
        { kind: "text", text: " I'll look\n\tthere. " },
        { kind: "call", id: "replay_1_1", name: "bash", input: { command: "ls" } },
        { kind: "call", id: "replay_1_2", name: "read", input: {} },
      ],
    });
  });

  test("the step is chosen by the answers in the request, so that a repeated request has the same answer", async () => {
    expect(await play(1)).toEqual(await play(1));
    expect(doneOf(await play(1))).toMatchObject({ stop: "end", parts: [{ kind: "text", text: "Done 🧶." }] });
  });

  test("a replay fails with the error of a step, and after its last step", async () => {
    expect(failedOf(await play(2))).toMatchObject({ error: { kind: "overloaded", message: "busy" }, parts: [{ text: "Half" }] });
    expect(failedOf(await play(9)).error).toMatchObject({ kind: "broken", message: "the script ends before step 10" });
  });

  test("an aborted replay stops, also while it waits", async () => {
    expect(failedOf(await play(3, script, AbortSignal.timeout(5))).error.kind).toBe("cancelled");
    expect(failedOf(await play(1, script, AbortSignal.abort())).error.kind).toBe("cancelled");
  });

  test("a script is read from a file, and its first error is reported", async () => {
    const path = join(directory, "script.json");
    writeFileSync(path, JSON.stringify(script));
    expect(doneOf(await play(1, loadScript(path))).parts).toEqual([{ kind: "text", text: "Done 🧶." }]);
    const wrong: [string, string][] = [
      ["{", "is not JSON"],
      ["[]", "no list of steps"],
      ['{"steps":[1]}', "step 1 is not an object"],
      ['{"steps":[{},{"txt":"x"}]}', 'step 2 has an unknown key "txt"'],
      ['{"steps":[{"text":1}]}', "step 1 has a text that is not a string"],
      ['{"steps":[{"calls":[{}]}]}', "step 1 has calls without a name"],
      ['{"steps":[{"error":{"kind":"odd","message":"x"}}]}', "step 1 has an error without a known kind"],
    ];
    for (const [text, message] of wrong) {
      writeFileSync(path, text);
      expect(() => loadScript(path)).toThrow(message);
    }
    expect(() => loadScript(join(directory, "none.json"))).toThrow(Fault);
  });
});
