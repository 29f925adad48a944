import { describe, expect, test } from "bun:test";
import {
  doneOf,
  failedOf,
  joined,
  lastOf,
  streamEvents,
  patient,
  recorded,
  silentAfter,
  streamOf,
} from "../../test/fixtures/streams/serve.ts";
import { error, goodAnswer, key, retrySoon, types, startVendor } from "../../test/fixtures/streams/vendor.ts";
import { createTestClock } from "../kit/flow/fixtures/test-clock.ts";
import { retryAfter } from "./error-response.ts";
import type { ModelEvent } from "./model.ts";
import { streamModel } from "./stream.ts";

describe("retries", () => {
  test("a temporary overload leads to retry events and then to the answer", async () => {
    const { endpoint } = startVendor((_, count) => (count < 3 ? error(529, "overloaded_error", "Overloaded") : goodAnswer()));
    const events = await streamEvents({}, endpoint);
    expect(types(events)).toEqual(["retry", "retry", "done"]);
    expect(events[0]).toMatchObject({ type: "retry", attempt: 1, waitMs: 1, error: { kind: "overloaded" } });
    expect(events[1]).toMatchObject({ attempt: 2 });
    expect(joined(events, "text.delta")).toContain("Hello");
  });

  test("without retry-after the first wait is 250 to 500 ms", async () => {
    const { endpoint } = startVendor((_, count) => (count === 1 ? error(500, "api_error", "x", {}) : goodAnswer()));
    const events = await streamEvents({}, endpoint);
    const wait = events[0]?.type === "retry" ? events[0].waitMs : 0;
    expect(wait).toBeGreaterThanOrEqual(250);
    expect(wait).toBeLessThanOrEqual(500);
  });

  test("a retry-after above the limit fails at once, with the requested time in the hint", async () => {
    const { server, endpoint } = startVendor(() => error(429, "rate_limit_error", "slow", { "retry-after": "3600" }));
    const failed = failedOf(await streamEvents({}, endpoint));
    expect(failed.error).toMatchObject({ kind: "rate-limited", hint: expect.stringContaining("60 min") as never });
    expect(server.requests).toHaveLength(1);
  });

  test("x-should-retry: false prevents a retry", async () => {
    const { server, endpoint } = startVendor(() => error(529, "overloaded_error", "x", { ...retrySoon, "x-should-retry": "false" }));
    await streamEvents({}, endpoint);
    expect(server.requests).toHaveLength(1);
  });

  test("retry-after is read as seconds, as a date and as milliseconds", () => {
    const now = Date.parse("2026-11-16T12:00:00Z");
    const table: [Record<string, string>, number | undefined][] = [
      [{ "retry-after": "2" }, 2000],
      [{ "retry-after": "1.5" }, 1500],
      [{ "retry-after": "Mon, 16 Nov 2026 12:00:30 GMT" }, 30_000],
      [{ "retry-after": "Mon, 16 Nov 2026 11:00:00 GMT" }, 0],
      [{ "retry-after": "2", "retry-after-ms": "250" }, 250],
      [{ "retry-after": "soon" }, undefined],
      [{}, undefined],
    ];
    for (const [headers, expected] of table) expect(retryAfter(new Headers(headers), now)).toBe(expected);
  });

  test("retryDelay in the body of Google is read", async () => {
    const body = { error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "quota", details: [{ retryDelay: "7200s" }] } };
    const { endpoint } = startVendor(() => Response.json(body, { status: 429 }));
    expect(failedOf(await streamEvents({}, endpoint)).error.hint).toContain("120 min");
  });

  test("an answer that ends before any content is requested again", async () => {
    const start = recorded("anthropic", "text").slice(0, 600);
    const { endpoint } = startVendor((_, count) =>
      count === 1 ? streamOf(start.slice(0, new TextDecoder().decode(start).indexOf("event: content_block_delta"))) : goodAnswer(),
    );
    const events = await streamEvents({}, endpoint);
    expect(types(events)).toEqual(["retry", "done"]);
    expect(events[0]).toMatchObject({ error: { kind: "network" } });
  });
});

describe("broken answers", () => {
  const half = (): Uint8Array<ArrayBuffer> => {
    const bytes = recorded("anthropic", "text");
    const text = new TextDecoder().decode(bytes);
    return new TextEncoder().encode(text.slice(0, text.lastIndexOf("event: content_block_delta")));
  };

  test("an answer that ends after content fails as network and keeps its parts", async () => {
    const { server, endpoint } = startVendor(() => streamOf(half()));
    const failed = failedOf(await streamEvents({}, endpoint));
    expect(failed.error.kind).toBe("network");
    expect(failed.parts).toEqual([{ kind: "text", text: "Hello, wörld 🧶" }]);
    expect(failed.usage.input).toBe(25);
    expect(server.requests).toHaveLength(1);
  });

  test("an answer whose connection is reset fails as network and keeps its parts", async () => {
    const listener = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket) {
          const text = new TextDecoder().decode(half());
          socket.write(
            `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`,
          );
          setTimeout(() => socket.terminate(), 20);
        },
      },
    });
    try {
      const failed = failedOf(await streamEvents({}, { wire: "anthropic", baseUrl: `http://127.0.0.1:${listener.port}` }));
      expect(failed.error.kind).toBe("network");
      expect(failed.parts).toEqual([{ kind: "text", text: "Hello, wörld 🧶" }]);
    } finally {
      listener.stop(true);
    }
  });

  test("a silent server is stalled: retried once before any content, not retried after it", async () => {
    const silentFromStart = startVendor(() => silentAfter(new Uint8Array(0)));
    const events = await streamEvents({}, silentFromStart.endpoint, { idleMs: 30 });
    expect(types(events)).toEqual(["retry", "failed"]);
    expect(failedOf(events).error.kind).toBe("stalled");
    const silentAfterContent = startVendor(() => silentAfter(half()));
    const failed = failedOf(await streamEvents({}, silentAfterContent.endpoint, { idleMs: 1_000 }));
    expect(failed.error.kind).toBe("stalled");
    expect(failed.parts).toHaveLength(1);
    expect(silentAfterContent.server.requests).toHaveLength(1);
  });

  test("an answer is complete if the server is silent or the connection breaks after its finish reason", async () => {
    const text = new TextDecoder().decode(recorded("openai-chat", "text")).replace(/data: \[DONE\]\s*$/, "");
    const silent = startVendor(() => silentAfter(new TextEncoder().encode(text)), "openai-chat");
    const done = doneOf(await streamEvents({}, silent.endpoint, { idleMs: 1_000 }));
    expect(done.stop).toBe("end");
    expect(silent.server.requests).toHaveLength(1);
    const broken = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket) {
          socket.write(
            `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`,
          );
          setTimeout(() => socket.terminate(), 20);
        },
      },
    });
    try {
      const events = await streamEvents({}, { wire: "openai-chat", baseUrl: `http://127.0.0.1:${broken.port}` });
      expect(doneOf(events).parts).toEqual(done.parts);
    } finally {
      broken.stop(true);
    }
  });

  test("an idle limit above the maximum of a timer does not fire early", async () => {
    const { endpoint } = startVendor(async () => {
      await Bun.sleep(30);
      return goodAnswer();
    });
    expect(doneOf(await streamEvents({}, endpoint, { idleMs: 40 * 86_400_000 })).stop).toBe("end");
  });

  test("a server that never answers is stalled", async () => {
    const { endpoint } = startVendor(() => new Promise<Response>(() => {}));
    const failed = failedOf(await streamEvents({}, endpoint, { idleMs: 30, retry: { attempts: 1, maxWaitMs: 0 } }));
    expect(failed.error.kind).toBe("stalled");
  });

  test("the idle limit does not count the time in which the consumer is busy", async () => {
    const { endpoint } = startVendor(() => streamOf(recorded("anthropic", "text"), 40));
    const request = { model: "m", effort: null, system: "", tools: [], messages: [], cacheKey: "", maxOutputTokens: null };
    const events: ModelEvent[] = [];
    const clock = createTestClock();
    for await (const event of streamModel(
      request,
      { ...endpoint, headers: {} },
      { signal: new AbortController().signal, idleMs: 1_000, retry: patient, clock },
    )) {
      if (events.length === 0) await clock.advance(1_200);
      events.push(event);
    }
    expect(lastOf(events).type).toBe("done");
  });
});

describe("aborted requests", () => {
  test("a request that is aborted before its start is not sent", async () => {
    const { server, endpoint } = startVendor(goodAnswer);
    const failed = failedOf(await streamEvents({}, endpoint, { signal: AbortSignal.abort() }));
    expect(failed.error.kind).toBe("cancelled");
    expect(server.requests).toHaveLength(0);
  });

  test("a request that is aborted during the answer keeps its parts and closes the connection", async () => {
    let isClosed = false;
    const owner = new AbortController();
    const text = new TextDecoder().decode(recorded("anthropic", "text"));
    const { endpoint } = startVendor(() => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode(text.slice(0, text.indexOf("event: content_block_stop")))),
        cancel: () => {
          isClosed = true;
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    const request = { model: "m", effort: null, system: "", tools: [], messages: [], cacheKey: "", maxOutputTokens: null };
    const events: ModelEvent[] = [];
    for await (const event of streamModel(request, { ...endpoint, headers: {} }, { signal: owner.signal, idleMs: null, retry: patient })) {
      events.push(event);
      owner.abort();
    }
    expect(failedOf(events)).toMatchObject({ error: { kind: "cancelled" }, parts: [{ kind: "text" }] });
    for (let i = 0; i < 100 && !isClosed; i += 1) await Bun.sleep(5);
    expect(isClosed).toBe(true);
  });

  test("a request that is aborted while it waits for a retry ends at once", async () => {
    const owner = new AbortController();
    const { endpoint } = startVendor(() => error(429, "rate_limit_error", "slow", { "retry-after": "30" }));
    const request = { model: "m", effort: null, system: "", tools: [], messages: [], cacheKey: "", maxOutputTokens: null };
    const events: ModelEvent[] = [];
    for await (const event of streamModel(request, { ...endpoint, headers: {} }, { signal: owner.signal, idleMs: null, retry: patient })) {
      events.push(event);
      if (event.type === "retry") setTimeout(() => owner.abort(), 5);
    }
    expect(types(events)).toEqual(["retry", "failed"]);
    expect(failedOf(events).error.kind).toBe("cancelled");
  });
});

describe("secrecy of keys", () => {
  const leaks: [string, () => Response][] = [
    ["an error body", () => error(400, "invalid_request_error", `bad header x-api-key: ${key}`)],
    ["an error page", () => new Response(`<p>x-api-key=${encodeURIComponent(key)}</p>`, { status: 400 })],
    ["a huge body", () => new Response(`${key} `.repeat(100_000), { status: 400 })],
    [
      "an error in mid-stream",
      () =>
        new Response(`data: {"type":"error","error":{"type":"x","message":"key ${key} and sk-other-0123456789"}}\n\n`, {
          headers: { "content-type": "text/event-stream" },
        }),
    ],
  ];
  for (const [place, answer] of leaks) {
    test(`a key that a vendor repeats in ${place} is never shown`, async () => {
      const { endpoint } = startVendor(answer);
      const events = await streamEvents({}, endpoint);
      const text = JSON.stringify(events);
      expect(text).not.toContain("recognisable");
      expect(text).not.toContain("sk-other");
      expect(failedOf(events).error.message).toContain("[key]");
      expect(failedOf(events).error.message).not.toContain("\n");
      expect(failedOf(events).error.message.length).toBeLessThanOrEqual(300);
    });
  }

  test("a key is sent in the vendor's header and nowhere else", async () => {
    const { server, endpoint } = startVendor(goodAnswer);
    await streamEvents({}, endpoint);
    expect(server.requests[0]?.headers.get("x-api-key")).toBe(key);
    expect(server.requests[0]?.headers.get("authorization")).toBeNull();
    expect(`${server.requests[0]?.url}${server.requests[0]?.text}`).not.toContain(key);
  });
});

describe("the stream", () => {
  test("a stream has the same parts for every chunk size", async () => {
    for (const size of [1, 3, 64, 100_000]) {
      const { endpoint } = startVendor(() => streamOf(recorded("anthropic", "text"), size));
      expect(doneOf(await streamEvents({}, endpoint)).parts).toEqual([{ kind: "text", text: "Hello, wörld 🧶!\nSecond line." }]);
    }
  });

  test("a stream ends with the vendor's last event, not with the connection", async () => {
    const { endpoint } = startVendor(() => silentAfter(recorded("anthropic", "text")));
    expect(doneOf(await streamEvents({}, endpoint, { idleMs: null })).stop).toBe("end");
  });

  test("consecutive requests use one connection", async () => {
    const ports = new Set<number | undefined>();
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request, self) {
        ports.add(self.requestIP(request)?.port);
        return streamOf(recorded("anthropic", "text"));
      },
    });
    for (let i = 0; i < 3; i += 1) {
      doneOf(await streamEvents({}, { wire: "anthropic", baseUrl: `http://127.0.0.1:${server.port}` }));
      await Bun.sleep(5);
    }
    await server.stop(true);
    expect(ports.size).toBe(1);
  });

  test("a stream never throws, even if its wire or fetch fails", async () => {
    const failures = [
      { loadWire: () => Promise.reject(new Error("no wire")) },
      { fetch: () => Promise.reject(new TypeError("what")) },
      { fetch: () => Promise.resolve(new Response(null)) },
    ];
    for (const failure of failures) {
      const events = await streamEvents(
        {},
        { wire: "anthropic", baseUrl: "http://127.0.0.1:1" },
        { ...failure, retry: { attempts: 1, maxWaitMs: 0 } },
      );
      expect(lastOf(events)).toMatchObject({ type: "failed" });
    }
  });
});
