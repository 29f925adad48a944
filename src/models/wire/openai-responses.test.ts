import { afterAll, describe, expect, test } from "bun:test";
import {
  answerOf,
  userMessage,
  doneOf,
  failedOf,
  joined,
  streamEvents,
  recorded,
  serve,
  streamOf,
  type RecordedAnswer,
} from "../../../test/fixtures/streams/serve.ts";
import { callsOf } from "../../protocol/tree/node.ts";
import type { ModelRequest } from "../model.ts";
import { openaiResponses } from "./openai-responses.ts";

let fixture = "text";
const server = serve(() => streamOf(recorded("openai-responses", fixture), 11));
afterAll(() => server.stop());
const endpoint = { wire: "openai-responses" as const, vendor: "openai", baseUrl: server.url, apiKey: "k" };

async function read(name: string) {
  fixture = name;
  const events = await streamEvents({ model: "gpt-6-sol" }, endpoint);
  return { events, done: doneOf(events) };
}

const write = (change: Partial<ModelRequest> = {}) => {
  const full: ModelRequest = {
    model: "gpt-6-sol",
    effort: null,
    system: "You are brief.",
    tools: [
      {
        name: "bash",
        description: "run",
        parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
      },
    ],
    messages: [userMessage("hi")],
    cacheKey: "session-1",
    maxOutputTokens: null,
    ...change,
  };
  return openaiResponses.request(full, { ...endpoint, headers: {} }).body;
};
type Written = { input: Record<string, unknown>[] } & Record<string, unknown>;
const bodyOf = (change: Partial<ModelRequest>) => JSON.parse(write(change)) as Written;

describe("reading the Responses wire", () => {
  const recordings: [string, RecordedAnswer, string][] = [
    ["text", { text: "Hi there, wörld 🧶", usage: { input: 37, output: 11, cacheRead: 0, cacheWrite: 0 } }, "end"],
    [
      "thinking",
      {
        text: "4",
        thinking: "**Adding** two numbers.\n\nIt is four.",
        usage: { input: 81, output: 35, cacheRead: 0, cacheWrite: 0 },
      },
      "end",
    ],
    [
      "parallel-calls",
      {
        text: "Both at once.",
        calls: [
          { id: "call_VpmBzbp9UMBzcVqfM5MQ1tSF", name: "read", input: { path: "a/b.txt", limit: 10 } },
          { id: "call_b2", name: "bash", input: { command: "ls" } },
          { id: "call_c3", name: "list", input: {} },
        ],
        usage: { input: 300, output: 60, cacheRead: 0, cacheWrite: 0 },
      },
      "calls",
    ],
    ["cache-usage", { text: "cached", usage: { input: 148, output: 9, cacheRead: 2048, cacheWrite: 256 } }, "end"],
  ];
  test.each(recordings)("the recording %s is read: text, thinking, calls, usage and stop", async (name, expected, stop) => {
    const { events, done } = await read(name);
    expect(answerOf(events)).toEqual(expected);
    expect<string>(done.stop).toBe(stop);
  });

  test("cached tokens are not counted as input", async () => {
    const { done } = await read("cache-usage");
    expect(done.usage).toEqual({ input: 148, output: 9, cacheRead: 2048, cacheWrite: 256 });
  });

  test("a refusal is text and ends as refused, a full length ends as length, and bad arguments are kept", async () => {
    fixture = "refusal";
    const refused = await streamEvents({}, endpoint);
    expect(doneOf(refused).stop).toBe("refused");
    expect(joined(refused, "text.delta")).toBe("I can't help with that.");
    fixture = "length";
    expect(doneOf(await streamEvents({}, endpoint)).stop).toBe("length");
    fixture = "malformed-arguments";
    expect(callsOf(doneOf(await streamEvents({}, endpoint)))[0]).toMatchObject({ id: "call_bad", input: {}, malformed: '{"command": ls}' });
  });

  test("a failed response and an error event fail with their kinds", async () => {
    fixture = "error-mid-stream";
    const failed = failedOf(await streamEvents({}, endpoint));
    expect(failed.error.kind).toBe("overloaded");
    expect(failed.parts).toEqual([{ kind: "text", text: "Half an ans" }]);
    fixture = "error-event";
    expect(failedOf(await streamEvents({}, endpoint, { retry: { attempts: 1, maxWaitMs: 0 } })).error.kind).toBe("rate-limited");
  });
});

describe("requests of the Responses wire", () => {
  test("a request is not stored, asks for encrypted reasoning and has the session as cache key", () => {
    const body = bodyOf({ effort: "xhigh", maxOutputTokens: 99 });
    expect(body).toMatchObject({
      store: false,
      stream: true,
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "xhigh", summary: "auto" },
      prompt_cache_key: "session-1",
      max_output_tokens: 99,
      instructions: "You are brief.",
    });
    expect(Object.keys(body).at(-1)).toBe("input");
    expect(bodyOf({ model: "gpt-4.1", effort: "high" })).not.toHaveProperty("include");
    expect(bodyOf({ model: "gpt-4.1", effort: "high" })).not.toHaveProperty("reasoning");
    expect(bodyOf({})).not.toHaveProperty("reasoning");
  });

  test("reasoning is sent back complete, to its own model, and only if text or a call followed", async () => {
    const { done } = await read("thinking");
    const messages: ModelRequest["messages"] = [userMessage("2+2"), { role: "assistant", parts: done.parts }, userMessage("sure?")];
    expect(bodyOf({ messages }).input[1]).toEqual({
      type: "reasoning",
      id: "rs_6876cf02e0bc8192b74af0fb64b715ff06fa2fcced15a5ac",
      summary: ["**Adding** two numbers.", "It is four."].map((text) => ({ type: "summary_text", text })),
      encrypted_content: "gAAAAABoISQ24OyVRYbkYfukdJoqdzWT",
    });
    expect(bodyOf({ messages }).input[2]).toEqual({
      role: "assistant",
      content: [{ type: "output_text", text: "4" }],
      phase: "final_answer",
    });
    expect(bodyOf({ messages, model: "gpt-5.5" }).input.map(({ type, role }) => type ?? role)).toEqual(["user", "assistant", "user"]);
    const alone: ModelRequest["messages"] = [
      userMessage("2+2"),
      { role: "assistant", parts: done.parts.slice(0, 1) },
      userMessage("sure?"),
    ];
    expect(bodyOf({ messages: alone }).input.map(({ type, role }) => type ?? role)).toEqual(["user"]);
  });

  const history: ModelRequest["messages"] = [
    {
      role: "user",
      parts: [
        { kind: "image", mime: "image/png", base64: "AAAA" },
        { kind: "text", text: "what?" },
      ],
    },
    {
      role: "assistant",
      parts: [
        { kind: "call", id: "c1", name: "read", input: { path: "a.png" } },
        { kind: "call", id: "c2", name: "bash", input: {}, malformed: "{x" },
      ],
    },
    {
      role: "tool",
      parts: [
        { kind: "result", call: "c1", name: "read", text: "a.png", isError: false, images: [{ mime: "image/png", base64: "BBBB" }] },
        { kind: "result", call: "c2", name: "bash", text: "no JSON", isError: true },
      ],
    },
    { role: "assistant", parts: [{ kind: "text", text: "a cat" }] },
    userMessage("sure?"),
  ];

  test("images of prompts and results are sent, and malformed calls with an empty input", () => {
    expect(bodyOf({ messages: history }).input).toEqual([
      {
        role: "user",
        content: [
          { type: "input_image", image_url: "data:image/png;base64,AAAA" },
          { type: "input_text", text: "what?" },
        ],
      },
      { type: "function_call", call_id: "c1", name: "read", arguments: '{"path":"a.png"}' },
      { type: "function_call", call_id: "c2", name: "bash", arguments: "{}" },
      {
        type: "function_call_output",
        call_id: "c1",
        output: [
          { type: "input_text", text: "a.png" },
          { type: "input_image", image_url: "data:image/png;base64,BBBB" },
        ],
      },
      { type: "function_call_output", call_id: "c2", output: "no JSON" },
      { role: "assistant", content: [{ type: "output_text", text: "a cat" }] },
      { role: "user", content: [{ type: "input_text", text: "sure?" }] },
    ]);
  });

  test("an earlier request is a prefix of a later one, byte for byte", () => {
    const bodies = [1, 3, 5].map((length) => write({ messages: history.slice(0, length) }).slice(0, -2));
    expect(bodies[1]?.startsWith(bodies[0]!)).toBe(true);
    expect(bodies[2]?.startsWith(bodies[1]!)).toBe(true);
  });
});
