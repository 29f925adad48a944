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
import { callsOf, textOf } from "../../protocol/tree/node.ts";
import type { ModelRequest } from "../model.ts";
import { openaiChat } from "./openai-chat.ts";

let fixture = "text";
const server = serve(() => streamOf(recorded("openai-chat", fixture), 13));
afterAll(() => server.stop());
const endpoint = { wire: "openai-chat" as const, vendor: "acme", baseUrl: server.url, apiKey: "k" };

async function read(name: string) {
  fixture = name;
  const events = await streamEvents({ model: "m" }, endpoint);
  return { events, done: doneOf(events) };
}

const write = (change: Partial<ModelRequest> = {}, vendor = "acme") => {
  const full: ModelRequest = {
    model: "m",
    effort: null,
    system: "You are brief.",
    tools: [{ name: "bash", description: "run", parameters: { type: "object", properties: {}, required: [] } }],
    messages: [userMessage("hi")],
    cacheKey: "s",
    maxOutputTokens: null,
    ...change,
  };
  return openaiChat.request(full, { ...endpoint, vendor, headers: {} }).body;
};
type Written = { messages: Record<string, unknown>[] } & Record<string, unknown>;
const bodyOf = (change: Partial<ModelRequest>, vendor?: string) => JSON.parse(write(change, vendor)) as Written;

describe("reading the Chat Completions wire", () => {
  const recordings: [string, RecordedAnswer][] = [
    ["text", { text: "Hello, wörld 🧶", usage: { input: 19, output: 10, cacheRead: 0, cacheWrite: 0 } }],
    ["thinking", { text: "4", thinking: "Two and two.", usage: { input: 30, output: 12, cacheRead: 0, cacheWrite: 0 } }],
    [
      "parallel-calls",
      {
        text: "Both at once.",
        calls: [
          { id: "call_abc", name: "read", input: { path: "a/b.txt", limit: 10 } },
          { id: "call_def", name: "bash", input: { command: "ls" } },
          { id: "call_ghi", name: "list", input: {} },
        ],
        usage: { input: 82, output: 51, cacheRead: 0, cacheWrite: 0 },
      },
    ],
    ["cache-usage", { text: "cached", usage: { input: 148, output: 9, cacheRead: 2048, cacheWrite: 256 } }],
    ["refusal", { text: "I can't help with that.", usage: { input: 20, output: 8, cacheRead: 0, cacheWrite: 0 } }],
  ];
  test.each(recordings)("the recording %s is read: text, thinking, calls and usage", async (name, expected) => {
    expect(answerOf((await read(name)).events)).toEqual(expected);
  });

  test("reasoning becomes thinking, and is sent back to vendors that use it", async () => {
    const { events, done } = await read("thinking");
    expect(joined(events, "thinking.delta")).toBe("Two and two.");
    const messages: ModelRequest["messages"] = [userMessage("2+2"), { role: "assistant", parts: done.parts }, userMessage("sure?")];
    expect(bodyOf({ messages }).messages[2]).toEqual({ role: "assistant", content: "4", reasoning_content: "Two and two." });
    expect(bodyOf({ messages, model: "other" }).messages[2]).toEqual({ role: "assistant", content: "4" });
  });

  test("OpenRouter's comments are skipped and its reasoning details are sent back joined", async () => {
    const { events, done } = await read("openrouter");
    expect(joined(events, "thinking.delta")).toBe("Hm, ok");
    const body = bodyOf({ messages: [userMessage("a"), { role: "assistant", parts: done.parts }] });
    expect(body.messages[2]).toEqual({
      role: "assistant",
      content: "fine",
      reasoning_details: [{ type: "reasoning.text", text: "Hm, ok", format: "anthropic-claude-v1", index: 0, signature: "sig==" }],
    });
  });

  test("Mistral's lists of content are read", async () => {
    const { events, done } = await read("mistral");
    expect(joined(events, "thinking.delta")).toBe("Let me see.");
    expect(textOf(done)).toBe("4");
    expect(done.usage).toEqual({ input: 20, output: 8, cacheRead: 0, cacheWrite: 0 });
  });

  test("a stream without ids, indexes, finish reason and end mark is read", async () => {
    const { done } = await read("local-server");
    expect(done.stop).toBe("calls");
    expect(callsOf(done)[0]).toMatchObject({ name: "bash", input: { command: "ls" } });
    expect(callsOf(done)[0]?.id).toMatch(/^call_\w{24}$/);
  });

  test("calls without index and id are separated by their names", () => {
    const reader = openaiChat.reader("m");
    const push = (call: object) =>
      reader.push({ event: "", data: JSON.stringify({ choices: [{ delta: { tool_calls: [{ function: call }] } }] }) });
    push({ name: "bash", arguments: '{"command":' });
    push({ arguments: '"ls"}' });
    push({ name: "read", arguments: '{"path":"a"}' });
    reader.push({ event: "", data: '{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}' });
    const calls = callsOf(reader.finish()!);
    expect(calls.map(({ name, input }) => ({ name, input: input as unknown }))).toEqual([
      { name: "bash", input: { command: "ls" } },
      { name: "read", input: { path: "a" } },
    ]);
    expect(calls[0]?.id).not.toBe(calls[1]?.id);
  });

  test("refusals and filters end as refused, and a full length as length; malformed arguments are kept", async () => {
    expect((await read("refusal")).done.stop).toBe("refused");
    expect((await read("content-filter")).done.stop).toBe("refused");
    expect((await read("length")).done.stop).toBe("length");
    expect(callsOf((await read("malformed-arguments")).done)[0]).toMatchObject({ input: {}, malformed: '{"command": ls}' });
  });

  test("an error chunk fails with its kind and keeps the parts so far", async () => {
    fixture = "error-mid-stream";
    const failed = failedOf(await streamEvents({}, endpoint));
    expect(failed.error.kind).toBe("overloaded");
    expect(failed.parts).toEqual([{ kind: "text", text: "Half an ans" }]);
  });
});

describe("requests of the Chat Completions wire", () => {
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
      parts: [{ kind: "result", call: "c1", name: "read", text: "a.png", isError: false, images: [{ mime: "image/png", base64: "BBBB" }] }],
    },
    { role: "tool", parts: [{ kind: "result", call: "c2", name: "bash", text: "no JSON", isError: true }] },
    { role: "assistant", parts: [{ kind: "text", text: "a cat" }] },
    userMessage("sure?"),
  ];

  test("the images of results are in a user message after all results", () => {
    expect(bodyOf({ messages: history }).messages).toEqual([
      { role: "system", content: "You are brief." },
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          { type: "text", text: "what?" },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "c1", type: "function", function: { name: "read", arguments: '{"path":"a.png"}' } },
          { id: "c2", type: "function", function: { name: "bash", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: "a.png" },
      { role: "tool", tool_call_id: "c2", content: "no JSON" },
      { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,BBBB" } }] },
      { role: "assistant", content: "a cat" },
      { role: "user", content: "sure?" },
    ]);
  });

  test("an earlier request is a prefix of a later one, byte for byte", () => {
    const bodies = [1, 4, 6].map((length) => write({ messages: history.slice(0, length) }).slice(0, -2));
    expect(bodies[1]?.startsWith(bodies[0]!)).toBe(true);
    expect(bodies[2]?.startsWith(bodies[1]!)).toBe(true);
  });

  test("each vendor gets its own dialect", () => {
    const change = { effort: "xhigh" as const, maxOutputTokens: 9 };
    expect(bodyOf(change)).toMatchObject({ reasoning_effort: "xhigh", max_tokens: 9, stream_options: { include_usage: true } });
    expect(bodyOf(change, "openai")).toMatchObject({ reasoning_effort: "xhigh", max_completion_tokens: 9 });
    expect(bodyOf(change, "openrouter")).toMatchObject({ reasoning: { effort: "xhigh" } });
    expect(bodyOf(change, "groq")).toMatchObject({ reasoning_effort: "high" });
    expect(bodyOf(change, "mistral")).toMatchObject({ reasoning_effort: "high" });
    expect(bodyOf(change, "mistral")).not.toHaveProperty("stream_options");
    const mistral = bodyOf({ messages: history }, "mistral").messages;
    const [call] = mistral[2]!.tool_calls as { id: string }[];
    expect(call?.id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(mistral[3]?.tool_call_id).toBe(call?.id);
  });
});
