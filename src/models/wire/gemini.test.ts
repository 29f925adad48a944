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
import { gemini } from "./gemini.ts";

let fixture = "text";
const server = serve(() => streamOf(recorded("gemini", fixture), 17));
afterAll(() => server.stop());
const endpoint = { wire: "gemini" as const, vendor: "gemini", baseUrl: server.url, apiKey: "k" };
const model = "gemini-3.8-flash";

async function read(name: string) {
  fixture = name;
  const events = await streamEvents({ model }, endpoint);
  return { events, done: doneOf(events) };
}

const write = (change: Partial<ModelRequest> = {}, baseUrl = "http://x") => {
  const full: ModelRequest = {
    model,
    effort: null,
    system: "You are brief.",
    tools: [{ name: "bash", description: "run", parameters: { type: "object", properties: {}, required: [] } }],
    messages: [userMessage("hi")],
    cacheKey: "s",
    maxOutputTokens: null,
    ...change,
  };
  return gemini.request(full, { ...endpoint, baseUrl, headers: {} });
};
type Written = { contents: { role: string; parts: Record<string, unknown>[] }[]; generationConfig?: unknown } & Record<string, unknown>;
const bodyOf = (change: Partial<ModelRequest>) => JSON.parse(write(change).body) as Written;

describe("reading the Gemini wire", () => {
  const recordings: [string, RecordedAnswer][] = [
    ["text", { text: "Hello, wörld 🧶!", usage: { input: 11, output: 7, cacheRead: 0, cacheWrite: 0 } }],
    ["thinking", { text: "4", thinking: "**Adding** them.", usage: { input: 10, output: 35, cacheRead: 0, cacheWrite: 0 } }],
    [
      "parallel-calls",
      {
        text: "Both at once.",
        calls: [
          { id: "fc-1", name: "read", input: { path: "a/b.txt", limit: 10 } },
          { id: expect.any(String), name: "bash", input: { command: "ls" } },
          { id: expect.any(String), name: "list", input: {} },
        ],
        usage: { input: 90, output: 30, cacheRead: 0, cacheWrite: 0 },
      },
    ],
    ["cache-usage", { text: "cached", usage: { input: 404, output: 9, cacheRead: 2048, cacheWrite: 0 } }],
    ["refusal", { text: "Well", usage: { input: 10, output: 1, cacheRead: 0, cacheWrite: 0 } }],
  ];
  test.each(recordings)("the recording %s is read: text, thinking, calls and usage", async (name, expected) => {
    expect(answerOf((await read(name)).events)).toEqual(expected);
  });

  test("ids of the vendor are kept, and calls without an id get one", async () => {
    const { done } = await read("parallel-calls");
    const ids = callsOf(done).map(({ id }) => id);
    expect(ids[0]).toBe("fc-1");
    expect(new Set(ids).size).toBe(3);
    expect(done.stop).toBe("calls");
  });

  test("a safety block and a blocked prompt end as refused, and a full length as length", async () => {
    fixture = "refusal";
    expect(doneOf(await streamEvents({ model }, endpoint)).stop).toBe("refused");
    fixture = "blocked-prompt";
    expect(doneOf(await streamEvents({ model }, endpoint))).toMatchObject({ stop: "refused", parts: [] });
    fixture = "length";
    expect(doneOf(await streamEvents({ model }, endpoint)).stop).toBe("length");
  });

  test("an error chunk fails with its kind; a malformed call is retried once and is then broken", async () => {
    fixture = "error-mid-stream";
    const failed = failedOf(await streamEvents({ model }, endpoint));
    expect(failed.error.kind).toBe("overloaded");
    expect(failed.parts).toEqual([{ kind: "text", text: "Half an ans" }]);
    fixture = "malformed-call";
    const events = await streamEvents({ model }, endpoint);
    expect(events.map(({ type }) => type)).toEqual(["retry", "failed"]);
    expect(failedOf(events).error).toMatchObject({ kind: "broken" });
    expect(failedOf(events).error.message).toContain("Malformed function call");
  });
});

describe("requests of the Gemini wire", () => {
  test("signatures and ids are sent back in their part, to the same model only", async () => {
    const { done } = await read("parallel-calls");
    const results = callsOf(done).map(({ id, name }) => ({
      kind: "result" as const,
      call: id,
      name,
      text: `r ${name}`,
      isError: name === "bash",
    }));
    const messages: ModelRequest["messages"] = [
      userMessage("go"),
      { role: "assistant", parts: done.parts },
      { role: "tool", parts: results },
    ];
    expect(bodyOf({ messages }).contents.slice(1)).toEqual([
      {
        role: "model",
        parts: [
          { text: "Both at once." },
          { functionCall: { id: "fc-1", name: "read", args: { path: "a/b.txt", limit: 10 } }, thoughtSignature: "sigA==" },
          { functionCall: { name: "bash", args: { command: "ls" } } },
          { functionCall: { name: "list", args: {} } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "fc-1", name: "read", response: { output: "r read" } } },
          { functionResponse: { name: "bash", response: { error: "r bash" } } },
          { functionResponse: { name: "list", response: { output: "r list" } } },
        ],
      },
    ]);
    const forOtherModel = bodyOf({ messages, model: "gemini-3.5-flash" }).contents[1]?.parts[1];
    expect(forOtherModel).toEqual({
      functionCall: { name: "read", args: { path: "a/b.txt", limit: 10 } },
      thoughtSignature: "skip_thought_signature_validator",
    });
    expect(bodyOf({ messages, model: "gemini-2.5-pro" }).contents[1]?.parts[1]).not.toHaveProperty("thoughtSignature");
  });

  test("a signature that came after the text is sent back with the text", async () => {
    const { done } = await read("thinking");
    const body = bodyOf({ messages: [userMessage("2+2"), { role: "assistant", parts: done.parts }] });
    expect(body.contents[1]?.parts).toEqual([{ text: "4", thoughtSignature: "CiIBVKhc7vB+vaaq6rA" }]);
  });

  const history: ModelRequest["messages"] = [
    {
      role: "user",
      parts: [
        { kind: "image", mime: "image/png", base64: "AAAA" },
        { kind: "text", text: "what?" },
      ],
    },
    { role: "assistant", parts: [{ kind: "call", id: "c1", name: "read", input: {}, malformed: "{x" }] },
    {
      role: "tool",
      parts: [{ kind: "result", call: "c1", name: "read", text: "a.png", isError: false, images: [{ mime: "image/png", base64: "BBBB" }] }],
    },
    userMessage("sure?"),
  ];

  test("images are in the result since the third generation, and after it in older models", () => {
    const image = { inlineData: { mimeType: "image/png", data: "BBBB" } };
    expect(bodyOf({ messages: history }).contents[0]?.parts[0]).toEqual({ inlineData: { mimeType: "image/png", data: "AAAA" } });
    expect(bodyOf({ messages: history }).contents[2]?.parts[0]).toEqual({
      functionResponse: { name: "read", response: { output: "a.png" }, parts: [image] },
    });
    const older = bodyOf({ messages: history, model: "gemini-2.5-flash" }).contents;
    expect(older[2]?.parts).toEqual([{ functionResponse: { name: "read", response: { output: "a.png" } } }]);
    expect(older[3]?.parts).toEqual([image, { text: "sure?" }]);
  });

  test("an earlier request is a prefix of a later one, byte for byte", () => {
    const bodies = [1, 3, 4].map((length) => write({ messages: history.slice(0, length) }).body.slice(0, -2));
    expect(bodies[1]?.startsWith(bodies[0]!)).toBe(true);
    expect(bodies[2]?.startsWith(bodies[1]!)).toBe(true);
  });

  test("an effort is sent as level or budget, by generation", () => {
    const configs: [string, ModelRequest["effort"], unknown][] = [
      [model, null, undefined],
      [model, "medium", { thinkingConfig: { includeThoughts: true, thinkingLevel: "MEDIUM" } }],
      [model, "xhigh", { thinkingConfig: { includeThoughts: true, thinkingLevel: "HIGH" } }],
      ["gemini-3-pro-preview", "medium", { thinkingConfig: { includeThoughts: true, thinkingLevel: "HIGH" } }],
      ["gemini-2.5-pro", "low", { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } }],
      ["gemini-2.0-flash", "high", undefined],
    ];
    for (const [name, effort, expected] of configs) expect(bodyOf({ model: name, effort }).generationConfig).toEqual(expected);
  });

  test("the URL has the vendor's path", () => {
    const path = "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse";
    for (const baseUrl of ["http://x", "http://x/", "http://x/v1beta"]) expect(write({}, baseUrl).url).toBe(`http://x${path}`);
  });
});
