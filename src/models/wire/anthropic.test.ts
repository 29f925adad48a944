import { afterAll, describe, expect, test } from "bun:test";
import {
  answerOf,
  userMessage,
  doneOf,
  failedOf,
  streamEvents,
  recorded,
  serve,
  streamOf,
  type RecordedAnswer,
} from "../../../test/fixtures/streams/serve.ts";
import { callsOf } from "../../protocol/tree/node.ts";
import type { ModelRequest } from "../model.ts";
import { anthropic } from "./anthropic.ts";

let fixture = "text";
const server = serve(() => streamOf(recorded("anthropic", fixture), 7));
afterAll(() => server.stop());
const endpoint = { wire: "anthropic" as const, vendor: "anthropic", baseUrl: server.url, apiKey: "k" };

async function read(name: string) {
  fixture = name;
  const events = await streamEvents({ model: "claude-opus-5-5" }, endpoint);
  return { events, done: doneOf(events) };
}

const request = (change: Partial<ModelRequest> = {}) => {
  const full: ModelRequest = {
    model: "claude-opus-5-5",
    effort: null,
    system: "You are brief.",
    tools: ["read", "bash"].map((name) => ({ name, description: name, parameters: { type: "object", properties: {}, required: [] } })),
    messages: [userMessage("hi")],
    cacheKey: "s",
    maxOutputTokens: null,
    ...change,
  };
  return anthropic.request(full, { ...endpoint, headers: {} });
};
type Written = Record<string, unknown> & { messages: { role: string; content: unknown[] }[] };
const bodyOf = (change: Partial<ModelRequest>) => JSON.parse(request(change).body) as Written;

describe("reading the Anthropic wire", () => {
  const recordings: [string, RecordedAnswer][] = [
    ["text", { text: "Hello, wörld 🧶!\nSecond line.", usage: { input: 25, output: 15, cacheRead: 0, cacheWrite: 0 } }],
    ["thinking", { text: "4", thinking: "The user wants a sum.", usage: { input: 40, output: 60, cacheRead: 0, cacheWrite: 0 } }],
    [
      "parallel-calls",
      {
        text: "Both at once.",
        calls: [
          { id: "toolu_01T1x1fJ34qAmk2tNTrN7Up6", name: "read", input: { path: "a/b.txt", limit: 10 } },
          { id: "toolu_02ABcdEfGhIjKlMnOpQrStUv", name: "bash", input: { command: "printf 'é\\n'" } },
          { id: "toolu_03ABcdEfGhIjKlMnOpQrStUv", name: "list", input: {} },
        ],
        usage: { input: 472, output: 89, cacheRead: 0, cacheWrite: 0 },
      },
    ],
    ["cache-usage", { text: "cached", usage: { input: 12, output: 7, cacheRead: 2100, cacheWrite: 340 } }],
    ["refusal", { text: "I can", usage: { input: 25, output: 3, cacheRead: 0, cacheWrite: 0 } }],
  ];
  test.each(recordings)("the recording %s is read: text, thinking, calls and usage", async (name, expected) => {
    expect(answerOf((await read(name)).events)).toEqual(expected);
  });

  test("cache tokens of a recording are counted as cache tokens", async () => {
    const { done } = await read("cache-usage");
    expect(done.usage).toEqual({ input: 12, output: 7, cacheRead: 2100, cacheWrite: 340 });
  });

  test("thinking keeps its signature, and redacted thinking its data, for the same model", async () => {
    const { done } = await read("thinking");
    const sent = bodyOf({ messages: [userMessage("hi"), { role: "assistant", parts: done.parts }, userMessage("go on")] }).messages;
    expect(sent[1]?.content).toEqual([
      { type: "thinking", thinking: "The user wants a sum.", signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds" },
      { type: "redacted_thinking", data: expect.stringMatching(/^EmwKAhgBEgy3va3pzix.*cPrQ\.\.\.$/) },
      { type: "text", text: "4" },
    ]);
    const forOtherModel = bodyOf({
      model: "claude-sonnet-5",
      messages: [userMessage("hi"), { role: "assistant", parts: done.parts }],
    }).messages;
    expect(forOtherModel[1]?.content).toEqual([{ type: "text", text: "4" }]);
  });

  test("a refusal ends as refused, and a full length as length; malformed arguments are kept", async () => {
    fixture = "refusal";
    expect(doneOf(await streamEvents({}, endpoint)).stop).toBe("refused");
    fixture = "length";
    const cut = doneOf(await streamEvents({}, endpoint));
    expect(cut.stop).toBe("length");
    expect(callsOf(cut)[0]).toMatchObject({ input: {}, malformed: '{"path":"x","content":"abc' });
    fixture = "malformed-arguments";
    const bad = doneOf(await streamEvents({}, endpoint));
    expect(bad.stop).toBe("calls");
    expect(callsOf(bad).map(({ input, malformed }) => ({ input, malformed }))).toEqual([
      { input: {}, malformed: '{"command": ls}' },
      { input: {}, malformed: '["ls"]' },
    ]);
  });

  test("an error in the stream fails with its kind and keeps the parts so far", async () => {
    fixture = "error-mid-stream";
    const failed = failedOf(await streamEvents({}, endpoint));
    expect(failed.error.kind).toBe("overloaded");
    expect(failed.parts).toEqual([{ kind: "text", text: "Half an ans" }]);
    expect(failed.usage.input).toBe(25);
  });
});

describe("requests of the Anthropic wire", () => {
  const call = (id: string) => ({ kind: "call" as const, id, name: "bash", input: { command: id } });
  const result = (id: string, text: string) => ({ kind: "result" as const, call: id, name: "bash", text, isError: false });
  const history: ModelRequest["messages"] = [
    userMessage("one"),
    { role: "assistant", parts: [call("c1"), call("c2")] },
    { role: "tool", parts: [result("c1", "r1")] },
    { role: "tool", parts: [result("c2", "r2")] },
    { role: "assistant", parts: [call("c3")] },
    { role: "tool", parts: [result("c3", "r3")] },
  ];

  test("a request has four breakpoints: tools, system, the last and the previous end of the history", () => {
    const text = request({ messages: history }).body;
    expect(text.split('"cache_control":{"type":"ephemeral"}')).toHaveLength(5);
    const body = bodyOf({ messages: history }) as unknown as {
      tools: object[];
      system: object[];
      messages: { role: string; content: object[] }[];
    };
    expect(body.tools.map((tool) => "cache_control" in tool)).toEqual([false, true]);
    expect(body.system[0]).toHaveProperty("cache_control");
    expect(body.messages.map(({ role, content }) => [role, content.map((block) => "cache_control" in block)])).toEqual([
      ["user", [false]],
      ["assistant", [false, false]],
      ["user", [false, true]],
      ["assistant", [false]],
      ["user", [true]],
    ]);
  });

  // A breakpoint is not part of the cached text: it moves with the end of the history. The bytes before the messages
  // never change, and without the breakpoints the earlier request is a prefix of the later one.
  test("an earlier request is a prefix of a later one, except for the moving breakpoints", () => {
    const bodies = [1, 4, 6].map((length) => request({ messages: history.slice(0, length) }).body);
    const heads = bodies.map((body) => body.slice(0, body.indexOf('"messages":[')));
    expect(new Set(heads).size).toBe(1);
    const plain = bodies.map((body) => body.replaceAll(',"cache_control":{"type":"ephemeral"}', "").slice(0, -2));
    expect(plain[1]?.startsWith(plain[0]!)).toBe(true);
    expect(plain[2]?.startsWith(plain[1]!)).toBe(true);
    // The later request still has a breakpoint where the earlier one ended: the vendor reads its cache there.
    expect(bodies[1]?.startsWith(bodies[0]!.slice(0, -2))).toBe(true);
  });

  test("images of prompts and results are sent in the vendor's format", () => {
    const image = { mime: "image/png", base64: "AAAA" };
    const block = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const { messages } = bodyOf({
      messages: [
        {
          role: "user",
          parts: [
            { kind: "image", ...image },
            { kind: "text", text: "what?" },
          ],
        },
        { role: "assistant", parts: [call("c1")] },
        { role: "tool", parts: [{ ...result("c1", "a.png"), images: [image] }] },
      ],
    }) as unknown as { messages: { content: object[] }[] };
    expect(messages[0]?.content[0]).toEqual(block);
    expect(messages[2]?.content[0]).toMatchObject({
      type: "tool_result",
      tool_use_id: "c1",
      content: [{ type: "text", text: "a.png" }, block],
    });
  });

  test("handles are sent as their excerpt, malformed calls with an empty input, and ids in an allowed form", () => {
    const { messages } = bodyOf({
      messages: [
        {
          role: "user",
          parts: [
            { kind: "handle", excerpt: "tail of it", handle: { source: "bash", sourceVersion: "1", identifier: "s/1", metadata: {} } },
          ],
        },
        { role: "assistant", parts: [{ kind: "call", id: "functions.bash:0", name: "bash", input: {}, malformed: "{x" }] },
        { role: "tool", parts: [{ ...result("functions.bash:0", ""), isError: true }] },
      ],
    }) as unknown as { messages: { content: { id: string; tool_use_id: string }[] }[] };
    expect(messages[0]?.content[0]).toMatchObject({ type: "text", text: "tail of it" });
    expect(messages[1]?.content[0]).toMatchObject({ type: "tool_use", input: {} });
    expect(messages[1]?.content[0]?.id).toMatch(/^[\w-]+$/);
    expect(messages[2]?.content[0]?.tool_use_id).toBe(messages[1]!.content[0]!.id);
    expect(messages[2]?.content[0]).toMatchObject({ is_error: true });
  });

  test("empty text, and thinking without text or a call after it, are not sent", () => {
    const opaque = { wire: "anthropic", model: "claude-opus-5-5", data: { signature: "s" } };
    const { messages } = bodyOf({
      messages: [
        userMessage("a"),
        {
          role: "assistant",
          parts: [
            { kind: "thinking", text: "hm", opaque },
            { kind: "text", text: "" },
          ],
        },
        userMessage("b"),
      ],
    }) as unknown as { messages: { role: string; content: object[] }[] };
    expect(messages).toHaveLength(1);
    expect(messages[0]?.content).toHaveLength(2);
  });

  test("blank text is not sent, in an answer, a prompt or beside the image of a result", () => {
    const { messages } = bodyOf({
      messages: [
        userMessage("a"),
        {
          role: "assistant",
          parts: [
            { kind: "text", text: "\n\n" },
            { kind: "call", id: "c", name: "read", input: {} },
          ],
        },
        { role: "tool", parts: [{ ...result("c", " \n"), images: [{ mime: "image/png", base64: "AA==" }] }] },
        userMessage(" "),
      ],
    }) as unknown as { messages: { content: { type: string; content: { type: string }[] }[] }[] };
    expect(messages).toHaveLength(3);
    expect(messages[1]?.content.map(({ type }) => type)).toEqual(["tool_use"]);
    expect(messages[2]?.content.map(({ type }) => type)).toEqual(["tool_result"]);
    expect(messages[2]?.content[0]?.content.map(({ type }) => type)).toEqual(["image"]);
  });

  test("tool names are sent in an allowed form, and lone surrogates of inputs are replaced", () => {
    const { body } = request({
      messages: [
        userMessage("a"),
        {
          role: "assistant",
          parts: ["", "mcp.find it", "x".repeat(90)].map((name, at) => ({
            kind: "call",
            id: `c${at}`,
            name,
            input: { "\ud83d": ["a\udc00", { deep: "\ud83e\udee7" }] },
          })),
        },
        { role: "tool", parts: ["c0", "c1", "c2"].map((id) => result(id, "no such tool")) },
      ],
    });
    const { messages } = JSON.parse(body) as { messages: { content: { name: string; input: unknown }[] }[] };
    expect(messages[1]?.content.map(({ name }) => name)).toEqual(["unknown", "mcp_find_it", "x".repeat(64)]);
    expect(messages[1]?.content[0]?.input).toEqual({ "\ufffd": ["a\ufffd", { deep: "\u{1fae7}" }] });
    expect(body).not.toMatch(/\\ud[89a-f]/i);
  });

  test("no thinking budget is sent while an answer continues that did not begin with thinking", () => {
    const model = "claude-opus-4-1";
    const call = { kind: "call" as const, id: "c", name: "bash", input: {} };
    const thinking = { kind: "thinking" as const, text: "hm", opaque: { wire: "anthropic", model, data: { signature: "s" } } };
    const after = (parts: ModelRequest["messages"][number]["parts"], ...more: ModelRequest["messages"]) =>
      bodyOf({ model, effort: "low", messages: [userMessage("a"), { role: "assistant", parts }, ...more] }).thinking;
    const answered: ModelRequest["messages"][number] = { role: "tool", parts: [result("c", "ok")] };
    expect(after([call], answered)).toBeUndefined();
    expect(after([thinking, call], answered)).toEqual({ type: "enabled", budget_tokens: 2048 });
    expect(after([{ kind: "text", text: "b" }], userMessage("c"))).toEqual({ type: "enabled", budget_tokens: 2048 });
  });

  const limits: [string, number][] = [
    ["claude-3-opus-20240229", 4096],
    ["claude-3-5-haiku-latest", 8192],
    ["claude-3-7-sonnet-latest", 32_000],
    ["claude-sonnet-4-5", 32_000],
    ["claude-opus-5-5", 32_000],
  ];
  test("the output limit depends on the model family, unless the request has one", () => {
    for (const [model, limit] of limits) expect(bodyOf({ model }).max_tokens).toBe(limit);
    expect(bodyOf({ maxOutputTokens: 77 }).max_tokens).toBe(77);
  });

  const efforts: [string, ModelRequest["effort"], unknown, unknown][] = [
    ["claude-opus-5-5", null, undefined, undefined],
    ["claude-opus-5-5", "xhigh", { type: "adaptive", display: "summarized" }, { effort: "xhigh" }],
    ["claude-sonnet-4-6", "xhigh", { type: "adaptive", display: "summarized" }, { effort: "high" }],
    ["claude-haiku-4-5-20251001", "low", { type: "enabled", budget_tokens: 2048 }, undefined],
    ["claude-opus-4-20250514", "medium", { type: "enabled", budget_tokens: 8192 }, undefined],
    ["claude-3-5-haiku-latest", "high", undefined, undefined],
  ];
  test("an effort is sent in the form of each model generation", () => {
    for (const [model, effort, thinking, config] of efforts) {
      const body = bodyOf({ model, effort });
      expect(body.thinking).toEqual(thinking);
      expect(body.output_config).toEqual(config);
    }
  });

  test("a request is sent to the vendor's path with a key or a bearer token, never both", () => {
    for (const baseUrl of ["http://x", "http://x/", "http://x/v1", "http://x/v1/"]) {
      const full = { model: "m", effort: null, system: "", tools: [], messages: [], cacheKey: "", maxOutputTokens: null };
      expect(anthropic.request(full, { ...endpoint, baseUrl, headers: {} }).url).toBe("http://x/v1/messages");
      const bearer = anthropic.request(full, { ...endpoint, headers: { authorization: "Bearer k" } });
      expect(bearer.headers).not.toHaveProperty("x-api-key");
    }
    expect(request().headers["x-api-key"]).toBe("k");
  });
});
