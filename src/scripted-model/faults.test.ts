// Tests faults, the fake cache, positions and the separate process of the scripted model server, over plain HTTP.
import { afterEach, describe, expect, test } from "bun:test";
import { startModelServer, type ModelServer, type ModelServerOptions } from "./model-server.ts";
import { startRemoteModelServer } from "../../test/support/model-server-control.ts";
import type { JsonValue } from "./json.ts";
import { findPosition } from "./position.ts";
import type { ServerWireName } from "./wires/wire.ts";
import { shellScript, type ServerFault } from "./script.ts";

const running: ModelServer[] = [];
const schema = { type: "object", properties: { command: { type: "string" } } };
const requests: Record<ServerWireName, { path: string; body: JsonValue; error: string }> = {
  anthropic: {
    path: "/v1/messages",
    body: {
      model: "m",
      stream: true,
      max_tokens: 9,
      tools: [{ name: "bash", input_schema: schema }],
      messages: [{ role: "user", content: "go" }],
    },
    error: "overloaded_error",
  },
  responses: {
    path: "/v1/responses",
    body: { model: "m", stream: true, tools: [{ type: "function", name: "exec_command", parameters: schema }], input: "go" },
    error: "response.failed",
  },
  chat: {
    path: "/chat/completions",
    body: {
      model: "m",
      stream: true,
      tools: [{ type: "function", function: { name: "bash", parameters: schema } }],
      messages: [{ role: "user", content: "go" }],
    },
    error: "server_error",
  },
  gemini: {
    path: "/v1beta/models/m:streamGenerateContent?alt=sse",
    body: {
      tools: [{ functionDeclarations: [{ name: "run_shell_command", parametersJsonSchema: schema }] }],
      contents: [{ role: "user", parts: [{ text: "go" }] }],
    },
    error: "UNAVAILABLE",
  },
};
const wires = Object.keys(requests) as ServerWireName[];

function start(options?: ModelServerOptions): ModelServer {
  const server = startModelServer(
    { steps: [{ text: "I run it now, a text of some length.", calls: [{ input: { command: "pwd" } }] }], final: "done" },
    options,
  );
  running.push(server);
  return server;
}

function ask(server: { url: string }, wire: ServerWireName): Promise<Response> {
  return fetch(server.url + requests[wire].path, { method: "POST", body: JSON.stringify(requests[wire].body) });
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

describe.each(wires)("%s", (wire) => {
  test("a status fault sends the vendor's error body for one request", async () => {
    const server = start({ faults: { 1: { type: "status", status: 429, retryAfter: "2" }, 2: { type: "status", status: 401 } } });
    const [first, second, third] = [await ask(server, wire), await ask(server, wire), await ask(server, wire)];
    expect([first.status, second.status, third.status]).toEqual([429, 401, 200]);
    expect(first.headers.get("retry-after")).toBe("2");
    expect(await first.json()).toHaveProperty("error.message", "scripted 429");
    expect(await third.text()).toContain("pwd");
  });

  test.each([500, 529])("a fault with status %d and no request number applies until it is cleared", async (status) => {
    const server = start();
    server.setFault({ type: "status", status });
    expect((await ask(server, wire)).status).toBe(status);
    server.setFault(null);
    expect((await ask(server, wire)).status).toBe(200);
  });

  test("a drop fault resets the connection after half of the stream", async () => {
    const response = await ask(start({ faults: { 1: { type: "drop" } } }), wire);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  test("a stall fault sends the beginning of the stream and then nothing", async () => {
    const server = start({ faults: { 1: { type: "stall", afterEvents: 1 } } });
    const reader = (await ask(server, wire)).body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value).endsWith("\n\n")).toBe(true);
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    const next = reader.read().then(over, over);
    await Bun.sleep(20);
    expect(isOver).toBe(false);
    await server.stop();
    await next;
  });

  test("an error-event fault ends the stream with the vendor's error event", async () => {
    const text = await (await ask(start({ faults: { 1: { type: "error-event", message: "broken inside" } } }), wire)).text();
    expect(text).toContain("broken inside");
    expect(text).toContain(requests[wire].error);
    expect(text).not.toMatch(/message_stop|response\.completed|\[DONE\]|"finishReason"/);
  });

  test("an empty fault sends an answer without content that ends normally", async () => {
    const text = await (await ask(start({ faults: { 1: { type: "empty" } } }), wire)).text();
    expect(text).not.toContain("pwd");
    expect(text).toMatch(/message_stop|response\.completed|\[DONE\]|"STOP"/);
  });

  test("a garbage-args fault sends arguments that are not JSON", async () => {
    const text = await (await ask(start({ faults: { 1: { type: "garbage-args" } } }), wire)).text();
    expect(text).toMatch(/oops|MALFORMED_FUNCTION_CALL/);
  });

  test("a slow fault sends the same answer, with a delay between events", async () => {
    const slow: ServerFault = { type: "slow", delayMs: 1 };
    const server = start({ faults: { 1: slow } });
    const [first, second] = [await (await ask(server, wire)).text(), await (await ask(server, wire)).text()];
    expect(first.replaceAll(/[_-]1\b|_1_0/g, "")).toBe(second.replaceAll(/[_-]2\b|_2_0/g, ""));
  });
});

describe("the fake cache", () => {
  const block = (text: string, marked: boolean): JsonValue => ({
    type: "text",
    text,
    ...(marked ? { cache_control: { type: "ephemeral" } } : {}),
  });
  const usageOf = async (server: ModelServer, path: string, body: JsonValue): Promise<Record<string, number>> => {
    const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
    return ((await response.json()) as { usage: Record<string, number> }).usage;
  };
  const tools = [{ name: "bash", input_schema: schema }];

  test("with breakpoints the second request reads the entry of the first and writes the remainder", async () => {
    const server = start({ cache: true });
    const system = [block("S".repeat(400), true)];
    const first = await usageOf(server, "/v1/messages", { tools, system, messages: [{ role: "user", content: [block("one", true)] }] });
    const messages = [
      { role: "user", content: [block("one", false)] },
      { role: "assistant", content: "ok" },
      { role: "user", content: [block("two", true)] },
    ];
    const second = await usageOf(server, "/v1/messages", { tools, system, messages });
    expect(first).toMatchObject({ input_tokens: 0, cache_read_input_tokens: 0 });
    expect(second.cache_read_input_tokens).toBe(first.cache_creation_input_tokens);
    expect(second.cache_creation_input_tokens).toBeGreaterThan(0);
    const changed = await usageOf(server, "/v1/messages", { tools, system: [block("T".repeat(400), true)], messages });
    expect(changed.cache_read_input_tokens).toBe(0);
  });

  test("without breakpoints any common prefix is read", async () => {
    const server = start({ cache: true });
    const body = (text: string): JsonValue => ({
      tools: [{ type: "function", name: "shell_command" }],
      instructions: "I".repeat(400),
      input: [{ role: "user", content: text }],
    });
    const cached = async (text: string): Promise<number> => {
      const { input_tokens_details: details } = await usageOf(server, "/v1/responses", body(text));
      return (details as unknown as { cached_tokens: number }).cached_tokens;
    };
    expect(await cached("one")).toBe(0);
    expect(await cached("two")).toBeGreaterThan(100);
  });
});

describe("findPosition", () => {
  const [user, call, result] = [
    (text: string) => ({ type: "user" as const, text }),
    { type: "call" as const, id: "x" },
    { type: "result" as const, id: "x" },
  ];

  test("the step is the number of rounds after the last user text", () => {
    expect(findPosition([user("a"), call, result, user("b"), call, call, result, result, call, result])).toEqual({
      turn: 2,
      step: 2,
      prompt: "b",
    });
  });

  test("interleaved parallel results of one answer are one round", () => {
    const at = (id: string) => [
      { type: "call" as const, id },
      { type: "result" as const, id },
    ];
    expect(findPosition([user("a"), ...at("call_t1s0n0"), ...at("call_t1s0n1"), ...at("call_t1s1n0")]).step).toBe(2);
  });

  test("with a marker the client's own texts are ignored", () => {
    expect(findPosition([user("#task a"), call, result, user("keep going")], "#task").step).toBe(1);
  });
});

test("a server in another process plays its script, records requests and stops", async () => {
  const server = await startRemoteModelServer(shellScript(["pwd"], "bye"));
  try {
    expect(await (await ask(server, "anthropic")).text()).toContain("pwd");
    await server.setFault({ type: "status", status: 500 });
    expect((await ask(server, "chat")).status).toBe(500);
    expect((await server.requests()).map((request) => [request.number, request.wire])).toEqual([
      [1, "anthropic"],
      [2, "chat"],
    ]);
    await server.clear();
    expect(await server.requests()).toEqual([]);
  } finally {
    await server.stop();
  }
});
