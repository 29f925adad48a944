import { afterEach, describe, expect, test } from "bun:test";
import { fstatSync, mkdtempSync, openSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { startModelServer, type ModelServer, type ModelServerOptions } from "../../../test/support/model-server.ts";
import type { Endpoint, WireName } from "../../models/model.ts";
import type { TurnError } from "../../protocol/error.ts";
import { type Gateway, type GatewayOptions, startGateway } from "./gateway.ts";
import type { MeteredRequest } from "./gateway-ledger.ts";

const key = "sk-real-0123456789abcdef";
const open: { stop: () => Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
});

type Around = { gateway: Gateway; server: ModelServer; metered: MeteredRequest[] };

function around(change: Partial<GatewayOptions> = {}, options: ModelServerOptions = {}): Around {
  const server = startModelServer({ steps: [{ text: "Hello there", usage }], final: "fine" }, options);
  open.push({ stop: () => server.stop() });
  return { server, ...gatewayTo(server.url, change) };
}

function gatewayTo(url: string, change: Partial<GatewayOptions> = {}): { gateway: Gateway; metered: MeteredRequest[] } {
  const metered: MeteredRequest[] = [];
  const gateway = startGateway({
    listen: { port: 0 },
    vendors: (wire) => endpoints(url)[wire],
    price: async (_vendor, model, used) => (model === "unknown" ? null : (used.input + used.output) / 1000),
    allow: () => null,
    onRequest: (one) => metered.push(one),
    ...change,
  });
  open.push({ stop: () => gateway.close() });
  return { gateway, metered };
}

const endpoints = (url: string): Record<WireName, Endpoint> => ({
  anthropic: { vendor: "anthropic", wire: "anthropic", baseUrl: url, apiKey: key, headers: {} },
  "openai-responses": { vendor: "openai", wire: "openai-responses", baseUrl: `${url}/v1`, apiKey: key, headers: {} },
  "openai-chat": { vendor: "acme", wire: "openai-chat", baseUrl: `${url}/v1`, apiKey: key, headers: { "x-team": "blue" } },
  gemini: { vendor: "gemini", wire: "gemini", baseUrl: url, apiKey: key, headers: {} },
});

const usage = { input: 100, output: 20, cacheRead: 30, cacheWrite: 0 };
const tools = [{ name: "bash" }];

type Client = {
  path: (stream: boolean) => string;
  body: (stream: boolean) => object;
  auth: (token: string) => Record<string, string>;
  /** The vendor's error: its type and its message. */
  error: (body: never) => [string, string];
  realKey: (headers: Record<string, string>) => string | undefined;
};

/** A client of each wire, as its vendor documents it. */
const clients: Record<WireName, Client> = {
  anthropic: {
    path: () => "/v1/messages?beta=true",
    body: (stream) => ({ model: "claude-sonnet-4-5", stream, tools, messages: [{ role: "user", content: "hi" }] }),
    auth: (token) => ({ "x-api-key": token, "anthropic-version": "2023-06-01" }),
    error: (body: { error: { type: string; message: string } }) => [body.error.type, body.error.message],
    realKey: (headers) => headers["x-api-key"],
  },
  "openai-responses": {
    path: () => "/v1/responses",
    body: (stream) => ({ model: "gpt-5.2", stream, tools: [{ type: "function", name: "bash" }], input: [{ role: "user", content: "hi" }] }),
    auth: (token) => ({ authorization: `Bearer ${token}` }),
    error: (body: { error: { type: string; message: string } }) => [body.error.type, body.error.message],
    realKey: (headers) => headers["authorization"]?.slice("Bearer ".length),
  },
  "openai-chat": {
    path: () => "/v1/chat/completions",
    body: (stream) => ({
      model: "m",
      stream,
      tools: [{ type: "function", function: { name: "bash" } }],
      messages: [{ role: "user", content: "hi" }],
    }),
    auth: (token) => ({ authorization: `bearer ${token}` }),
    error: (body: { error: { type: string; message: string } }) => [body.error.type, body.error.message],
    realKey: (headers) => headers["authorization"]?.slice("Bearer ".length),
  },
  gemini: {
    path: (stream) => `/v1beta/models/gemini-3-pro-preview:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: () => ({ tools: [{ functionDeclarations: tools }], contents: [{ role: "user", parts: [{ text: "hi" }] }] }),
    auth: (token) => ({ "x-goog-api-key": token }),
    error: (body: { error: { status: string; message: string } }) => [body.error.status, body.error.message],
    realKey: (headers) => headers["x-goog-api-key"],
  },
};
const wires = Object.keys(clients) as WireName[];

function ask(gateway: Gateway, wire: WireName, given: { stream?: boolean; token?: string; init?: RequestInit } = {}): Promise<Response> {
  const { stream = true, token = gateway.token, init } = given;
  const client = clients[wire];
  return fetch(gateway.url + client.path(stream), {
    method: "POST",
    headers: { "content-type": "application/json", ...client.auth(token) },
    body: JSON.stringify(client.body(stream)),
    ...init,
  });
}

describe("a request through the gateway", () => {
  for (const wire of wires) {
    for (const stream of [true, false]) {
      test(`${wire}, ${stream ? "as a stream" : "in one piece"}: the vendor's own answer, with the real key, counted`, async () => {
        const { gateway, server, metered } = around();
        const through = await ask(gateway, wire, { stream });
        const text = await through.text();
        expect({ status: through.status, said: text.includes("Hello") }).toEqual({ status: 200, said: true });
        const { headers, text: sent, path } = server.requests[0]!;
        expect(clients[wire].realKey(headers)).toBe(key);
        expect(JSON.stringify([headers, sent, path])).not.toContain(gateway.token);
        expect(text + JSON.stringify([...through.headers])).not.toContain(key);
        await gateway.close();
        const { model } = { model: "gemini-3-pro-preview", ...clients[wire].body(stream) };
        expect(metered).toMatchObject([{ wire, kind: "answer", model, status: 200, usage, costUsd: 0.12, error: null, note: null }]);
        expect(metered[0]?.firstByteMs).toBeGreaterThan(0);
        expect(gateway.spent()).toEqual({ usage, costUsd: 0.12 });
        expect(gateway.requests()).toEqual(metered);
      });
    }

    test(`${wire}: a stranger's token is refused in the vendor's words, and nobody is asked`, async () => {
      const { gateway, server, metered } = around();
      for (const token of ["", "sk-skein-wrong", gateway.token.slice(0, -1)]) {
        const answer = await ask(gateway, wire, { token });
        const [type, message] = clients[wire].error((await answer.json()) as never);
        expect([answer.status, type]).toEqual([401, wire === "gemini" ? "UNAUTHENTICATED" : "authentication_error"]);
        expect(message).toBe("skein: the token is not that of this turn");
      }
      expect([server.requests.length, metered.length]).toEqual([0, 0]);
    });

    test(`${wire}: over the budget it is refused for good in the vendor's words, and told`, async () => {
      const refusal: TurnError = { kind: "budget", limit: "money", message: "the budget is used up: $0.1200 of $0.1" };
      const { gateway, server, metered } = around({ allow: ({ costUsd }) => ((costUsd ?? 0) >= 0.1 ? refusal : null) });
      await (await ask(gateway, wire)).text();
      const answer = await ask(gateway, wire);
      const [type, message] = clients[wire].error((await answer.json()) as never);
      expect([answer.status, type]).toEqual([400, wire === "gemini" ? "INVALID_ARGUMENT" : "invalid_request_error"]);
      // A CLI that looks for status codes in messages must not find one.
      expect(message).toBe("skein: this turn's budget is used up");
      expect(answer.headers.get("x-should-retry")).toBe("false");
      expect(server.requests.length).toBe(1);
      expect(metered[1]).toMatchObject({ error: refusal, status: null, costUsd: 0 });
    });

    test(`${wire}: a vendor that can't be reached is a 502 with its name`, async () => {
      const nobody = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
      nobody.stop(true);
      const { gateway, metered } = gatewayTo(`http://127.0.0.1:${nobody.port}`);
      const answer = await ask(gateway, wire);
      const [, message] = clients[wire].error((await answer.json()) as never);
      expect(answer.status).toBe(502);
      expect(message).toStartWith(`skein: ${endpoints("")[wire].vendor}: `);
      expect(message).not.toContain(key);
      expect(metered).toMatchObject([{ status: null, error: { kind: "network" }, costUsd: 0 }]);
    });
  }

  test("errors of the vendor pass as they are, but for the key that they quote, and are understood", async () => {
    const { gateway, server, metered } = around();
    for (const [status, kind] of [
      [401, "auth"],
      [429, "rate-limited"],
      [500, "overloaded"],
    ] as const) {
      server.setFault({ type: "status", status, message: `no: ${status} for ${key}`, retryAfter: "7" });
      for (const wire of wires) {
        const answer = await ask(gateway, wire);
        expect([answer.status, answer.headers.get("retry-after")]).toEqual([status, "7"]);
        expect(clients[wire].error((await answer.json()) as never)[1]).toBe(`no: ${status} for [key]`);
        expect(metered.at(-1)).toMatchObject({ status, costUsd: 0, error: { kind } });
        expect(JSON.stringify(metered)).not.toContain(key);
      }
    }
  });

  test("an error in mid-stream, and a connection that breaks, reach the client and the record", async () => {
    const { gateway, server, metered } = around();
    for (const wire of wires) {
      server.setFault({ type: "error-event", message: "too busy" });
      expect(await (await ask(gateway, wire)).text()).toContain("too busy");
      expect(metered.at(-1)).toMatchObject({ status: 200, error: { kind: expect.any(String) as string } });
      server.setFault({ type: "drop", afterEvents: 1 });
      await expect(ask(gateway, wire).then((answer) => answer.text())).rejects.toThrow();
      expect(metered.at(-1)).toMatchObject({ status: 200, error: { kind: "network" } });
    }
  });

  test("each chunk goes out when it comes", async () => {
    const steps: (() => void)[] = [];
    const vendor = serveStream(async function* () {
      for (const event of ["message_start", "content_block_delta"]) {
        yield `event: ${event}\ndata: {"type":"${event}"}\n\n`;
        await new Promise<void>((resolve) => steps.push(resolve));
      }
    });
    const { gateway } = gatewayTo(vendor.url);
    const reader = (await ask(gateway, "anthropic")).body!.getReader();
    const next = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await next()).toContain("message_start");
    steps.shift()!();
    expect(await next()).toContain("content_block_delta");
    steps.shift()!();
    expect((await reader.read()).done).toBe(true);
  });

  test("a client that leaves takes the vendor's request with it, and what was used by then is counted", async () => {
    const { gateway, server, metered } = around();
    server.setFault({ type: "stall", afterEvents: 3 });
    const leaving = new AbortController();
    const answer = await ask(gateway, "anthropic", { init: { signal: leaving.signal } });
    await answer.body!.getReader().read();
    leaving.abort();
    while (metered.length === 0) await Bun.sleep(5);
    expect(metered).toMatchObject([{ error: { kind: "cancelled" }, usage: { input: 100, output: 1, cacheRead: 30 } }]);
  });

  test("close breaks off what runs, reader or not, and counts it", async () => {
    const { gateway, server, metered } = around();
    server.setFault({ type: "stall", afterEvents: 3 });
    await ask(gateway, "openai-responses");
    await ask(gateway, "gemini");
    await gateway.close();
    expect(metered.map(({ error }) => error?.kind)).toEqual(["cancelled", "cancelled"]);
    await expect(ask(gateway, "anthropic")).rejects.toThrow();
  });

  test("a request that still runs counts for the next one's budget", async () => {
    let asked = 0;
    const seen: (number | null)[] = [];
    const { gateway, server } = around({ allow: ({ costUsd }) => ((asked += 1), seen.push(costUsd), null) });
    server.setFault({ type: "stall", afterEvents: 3 });
    await (await ask(gateway, "anthropic")).body!.getReader().read();
    server.setFault(null);
    await (await ask(gateway, "gemini")).text();
    expect([asked, seen]).toEqual([2, [0, 0.101]]);
  });
});

describe("the gateway as a wall", () => {
  test("only the vendors' own paths lead anywhere", async () => {
    const { gateway, server } = around();
    const authorization = `Bearer ${gateway.token}`;
    const attempts = [
      "GET /v1/files",
      "POST /v1/batches",
      "DELETE /v1/models/x",
      "GET /v1/messages",
      "POST /v1/messages/../files",
      "POST //v1/messages",
    ];
    attempts.push(
      "POST /v1beta/models/x%2F..:generateContent",
      "POST /v1beta/cachedContents",
      "GET http://169.254.169.254/latest",
      "POST /v1/messages/",
    );
    for (const attempt of attempts) {
      const [method, path] = attempt.split(" ") as [string, string];
      const answer = await rawRequest(
        gateway,
        `${method} ${path} HTTP/1.1\r\nHost: elsewhere\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`,
      );
      expect([attempt, /^HTTP\/1.1 (\d+)/.exec(answer)?.[1]]).toEqual([attempt, "404"]);
    }
    const root = await fetch(gateway.url!, { method: "HEAD" });
    expect([root.status, server.requests.length]).toEqual([200, 0]);
  });

  test("a wire without a vendor in this turn is closed", async () => {
    const { gateway, server } = around({ vendors: () => null });
    for (const wire of wires) expect((await ask(gateway, wire)).status).toBe(404);
    expect(server.requests).toEqual([]);
  });

  test("redirects are not followed and not passed on", async () => {
    const elsewhere = startModelServer({ steps: [], final: "x" });
    open.push({ stop: () => elsewhere.stop() });
    const vendor = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.redirect(`${elsewhere.url}/v1/messages`, 307) });
    open.push({ stop: () => vendor.stop(true) });
    const { gateway, metered } = gatewayTo(`http://127.0.0.1:${vendor.port}`);
    const answer = await ask(gateway, "anthropic", { init: { redirect: "manual" } });
    expect([answer.status, answer.headers.get("location"), elsewhere.requests.length]).toEqual([502, null, 0]);
    expect(metered[0]?.status).toBe(307);
  });

  test("the token is taken from wherever a client puts it, and goes no further", async () => {
    const { gateway, server } = around();
    const send = (path: string, headers: Record<string, string> = {}) =>
      fetch(gateway.url + path, { method: "POST", headers: { ...headers, cookie: "a=b", te: "trailers" }, body: "{}" });
    const { token } = gateway;
    const statuses = [
      (await send(`/v1beta/models/m:countTokens?key=${token}&x=1`)).status,
      (await send("/v1/messages/count_tokens", { authorization: `Bearer ${token}` })).status,
      (await send("/v1/messages/count_tokens", { "x-api-key": token, "x-goog-api-key": "other" })).status,
    ];
    expect(statuses).toEqual([200, 200, 200]);
    const seen = JSON.stringify(server.requests);
    for (const word of [token, "a=b", "trailers", "other"]) expect(seen).not.toContain(word);
    expect(server.requests[0]?.headers["x-goog-api-key"]).toBe(key);
  });

  test("counting tokens and listing models cost nothing, and are on the record", async () => {
    const { gateway, metered } = around();
    const get = (path: string, headers: Record<string, string>) => fetch(gateway.url + path, { headers });
    await (await get("/v1/models", { "x-api-key": gateway.token, "anthropic-version": "x" })).text();
    await (await get("/v1/models", { authorization: `Bearer ${gateway.token}` })).text();
    await (await get("/v1beta/models", { "x-goog-api-key": gateway.token })).text();
    await gateway.close();
    expect(metered.map(({ wire, kind, costUsd, note }) => [wire, kind, costUsd, note])).toEqual([
      ["anthropic", "list", 0, null],
      ["openai-responses", "list", 0, null],
      ["gemini", "list", 0, null],
    ]);
  });

  test("a vendor's own bearer and headers replace the CLI's", async () => {
    const bearer = { ...endpoints("").anthropic, headers: { authorization: `Bearer ${key}`, "x-team": "red" } };
    const { gateway, server } = around({ vendors: () => ({ ...bearer, baseUrl: `${server.url}/v1/` }) });
    await ask(gateway, "anthropic");
    const { headers } = server.requests[0]!;
    expect([headers["authorization"], headers["x-api-key"], headers["x-team"]]).toEqual([`Bearer ${key}`, undefined, "red"]);
  });

  test("a unix socket is ours alone and goes with the gateway", async () => {
    const folder = mkdtempSync(join(tmpdir(), "skein-gateway-"));
    open.push({ stop: () => rmSync(folder, { recursive: true }) });
    const unix = join(folder, "g");
    const { gateway } = around({ listen: { unix } });
    expect([gateway.url, statSync(unix).mode & 0o777]).toEqual([null, 0o600]);
    const { anthropic } = clients;
    const answer = await fetch("http://gateway/v1/messages", {
      unix,
      method: "POST",
      headers: anthropic.auth(gateway.token),
      body: JSON.stringify(anthropic.body(true)),
    });
    expect(await answer.text()).toContain("Hello");
    await gateway.close();
    expect(statSync(unix, { throwIfNoEntry: false })).toBeUndefined();
    const late = openSync("/dev/null", "r");
    await gateway.serve(late);
    expect(() => fstatSync(late)).toThrow("EBADF");
  });
});

describe("metering", () => {
  test("an answer that can't be read passes all the same, and says that it was not counted", async () => {
    const bodies = ["event: x\ndata: {no json\n\n", `data: {"usage":"none"}\n\ndata: [1,2]\n\n`, "", `data: ${"x".repeat(20_000_000)}\n\n`];
    for (const body of bodies) {
      const vendor = serveStream(async function* () {
        yield body;
      });
      const { gateway, metered } = gatewayTo(vendor.url);
      for (const wire of wires) expect(await (await ask(gateway, wire)).text()).toBe(body);
      await gateway.close();
      expect(metered.map(({ note, costUsd }) => [note, costUsd])).toEqual(wires.map(() => ["the vendor told no usage", null]));
    }
  });

  test("a vendor that packs its answer though it was not asked to is unpacked", async () => {
    const body = JSON.stringify({ usage: { input_tokens: 5, output_tokens: 6 } });
    const headers = { "content-encoding": "gzip", "content-type": "application/json" };
    const vendor = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(gzipSync(body), { headers }) });
    open.push({ stop: () => vendor.stop(true) });
    const { gateway } = gatewayTo(`http://127.0.0.1:${vendor.port}`);
    const answer = await ask(gateway, "anthropic", { stream: false });
    expect([await answer.text(), answer.headers.get("content-encoding")]).toEqual([body, null]);
    expect(gateway.spent().usage).toEqual({ input: 5, output: 6, cacheRead: 0, cacheWrite: 0 });
  });

  test("a packed request is unpacked, one past the bound is refused", async () => {
    const { gateway, server } = around();
    const { anthropic } = clients;
    const send = (body: Uint8Array<ArrayBuffer>, encoding: string) =>
      fetch(`${gateway.url}/v1/messages`, {
        method: "POST",
        headers: { ...anthropic.auth(gateway.token), "content-encoding": encoding },
        body,
      });
    const body = JSON.stringify(anthropic.body(true));
    expect((await send(new Uint8Array(gzipSync(body)), "gzip")).status).toBe(200);
    expect((await send(new Uint8Array(zstdCompressSync(body)), "zstd")).status).toBe(200);
    expect(server.requests.map(({ text }) => text)).toEqual([body, body]);
    expect((await send(new Uint8Array(gzipSync(Buffer.alloc(65 * 1024 * 1024))), "gzip")).status).toBe(413);
    expect((await send(new Uint8Array(65 * 1024 * 1024), "identity")).status).toBe(413);
    expect((await send(new Uint8Array(3), "br")).status).toBe(413);
    expect(server.requests.length).toBe(2);
  });

  test("Chat Completions are asked for their usage, unless the client has said what it wants", async () => {
    const { gateway, server } = around();
    await ask(gateway, "openai-chat");
    expect(server.requests[0]?.body).toMatchObject({ stream_options: { include_usage: true } });
    const body = { ...clients["openai-chat"].body(true), stream_options: { include_usage: false } };
    await ask(gateway, "openai-chat", { init: { body: JSON.stringify(body) } });
    expect(server.requests[1]?.body).toMatchObject({ stream_options: { include_usage: false } });
  });

  test("a model without a price makes the sum unknown", async () => {
    const { gateway } = around();
    const body = { ...clients.anthropic.body(true), model: "unknown" };
    await (await ask(gateway, "anthropic", { init: { body: JSON.stringify(body) } })).text();
    expect(gateway.spent()).toEqual({ usage, costUsd: null });
  });
});

async function rawRequest(gateway: Gateway, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let got = "";
  await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(gateway.url!).port),
    socket: {
      open: (socket) => void socket.write(text),
      data: (_socket, data) => void (got += data.toString()),
      close: () => resolve(got),
    },
  });
  return promise;
}

function serveStream(chunks: () => AsyncGenerator<string>): { url: string } {
  const encoder = new TextEncoder();
  const body = () =>
    new ReadableStream<Uint8Array>({
      async start(controller) {
        for await (const chunk of chunks()) controller.enqueue(encoder.encode(chunk));
        controller.close();
      },
    });
  const headers = { "content-type": "text/event-stream" };
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: () => new Response(body(), { headers }) });
  open.push({ stop: () => server.stop(true) });
  return { url: `http://127.0.0.1:${server.port}` };
}
