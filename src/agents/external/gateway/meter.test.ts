import { afterEach, describe, expect, test } from "bun:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { startGatewayFixture, ask, clients, gatewayTo, open, serveStream, stopAll, usage, wires } from "../fixtures/vendor-clients.ts";

import { outputLimit } from "./request-body.ts";

afterEach(stopAll);

describe("meter", () => {
  test("an answer that can't be parsed is forwarded, and its usage is estimated from its size", async () => {
    const bodies = ["event: x\ndata: {no json\n\n", `data: {"usage":"none"}\n\ndata: [1,2]\n\n`, "", `data: ${"x".repeat(20_000_000)}\n\n`];
    for (const body of bodies) {
      const vendor = serveStream(async function* () {
        yield body;
      });
      const { gateway, metered } = gatewayTo(vendor.url);
      for (const wire of wires) expect(await (await ask(gateway, wire)).text()).toBe(body);
      await gateway.close();
      for (const { usage: counted } of metered) {
        expect(counted.output).toBe(Math.ceil(body.length / 3));
        expect(counted.input).toBeGreaterThan(10);
      }
    }
  });

  test("an answer that is compressed without being asked for is unpacked", async () => {
    const body = JSON.stringify({ usage: { input_tokens: 5, output_tokens: 6 } });
    const headers = { "content-encoding": "gzip", "content-type": "application/json" };
    const vendor = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(gzipSync(body), { headers }) });
    open.push({ stop: () => vendor.stop(true) });
    const { gateway } = gatewayTo(`http://127.0.0.1:${vendor.port}`);
    const answer = await ask(gateway, "anthropic", { stream: false });
    expect([await answer.text(), answer.headers.get("content-encoding")]).toEqual([body, null]);
    expect(gateway.spent().usage).toEqual({ input: 5, output: 6, cacheRead: 0, cacheWrite: 0 });
  });

  test("a compressed request is unpacked, and a too large one is refused", async () => {
    const { gateway, server } = startGatewayFixture();
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

  test("a Chat Completions request asks for usage, also if the client has set the option to false", async () => {
    const { gateway, server } = startGatewayFixture();
    const bodies = [{}, { stream_options: { include_usage: false } }, { stream_options: null }, { stream_options: { other: 1 } }];
    for (const more of bodies)
      await (
        await ask(gateway, "openai-chat", { init: { body: JSON.stringify({ ...clients["openai-chat"].body(true), ...more }) } })
      ).text();
    expect(server.requests.map(({ body }) => (body as { stream_options: object }).stream_options)).toEqual([
      { include_usage: true },
      { include_usage: true },
      { include_usage: true },
      { other: 1, include_usage: true },
    ]);
    expect(gateway.spent().usage.output).toBe(bodies.length * usage.output);
  });

  for (const wire of wires) {
    test(`${wire}: a stream without usage is counted by its text, whole or cut off`, async () => {
      const { server } = startGatewayFixture();
      const stream = await (
        await fetch(server.url + clients[wire].path(true), { method: "POST", body: JSON.stringify(clients[wire].body(true)) })
      ).text();
      const text = String.raw`say \"hi\" `.repeat(300);
      const withoutUsage = stream
        .replaceAll(/"(usage|usageMetadata)":/g, '"other":')
        .replace(/(": ?")(Hello[^"]*)"/, (_, open: string) => `${open}${text}"`);
      for (const isCut of [false, true]) {
        const vendor = serveStream(async function* () {
          yield isCut ? withoutUsage.slice(0, withoutUsage.lastIndexOf("data: ")) : withoutUsage;
        });
        const { gateway, metered } = gatewayTo(vendor.url);
        await (await ask(gateway, wire)).text();
        await gateway.close();
        const { output, input } = metered[0]!.usage;
        expect(output).toBeGreaterThan(text.length / 4);
        expect(output).toBeLessThan(text.length / 2);
        expect([input > 10, metered[0]!.costUsd! > 0]).toEqual([true, true]);
      }
    });
  }

  test("a client that disconnects before the answer starts is counted by the size of its request", async () => {
    const { promise: stop, resolve } = Promise.withResolvers<void>();
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const vendor = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async () => {
        asked();
        await stop;
        return new Response();
      },
    });
    open.push({ stop: () => vendor.stop(true) });
    const { gateway, metered } = gatewayTo(`http://127.0.0.1:${vendor.port}`);
    const disconnect = new AbortController();
    const body = JSON.stringify({ ...clients.anthropic.body(true), system: "x".repeat(30_000) });
    const answer = ask(gateway, "anthropic", { init: { signal: disconnect.signal, body } }).catch(() => null);
    await isAsked;
    disconnect.abort();
    await answer;
    while (metered.length === 0) await Bun.sleep(5);
    resolve();
    expect(metered).toMatchObject([{ status: null, error: { kind: "cancelled" } }]);
    expect(metered[0]!.usage.input).toBeGreaterThan(10_000);
  });

  test("a Responses request with background is refused, because its usage can't be counted", async () => {
    const { gateway, server } = startGatewayFixture();
    const body = { ...clients["openai-responses"].body(true), background: true };
    const answer = await ask(gateway, "openai-responses", { init: { body: JSON.stringify(body) } });
    expect([answer.status, await answer.text(), server.requests.length]).toEqual([400, expect.stringContaining("background"), 0]);
  });

  test("the limit of output is read from the request of every wire", () => {
    expect(outputLimit({ max_tokens: 8 }, "anthropic")).toBe(8);
    expect(outputLimit({ max_completion_tokens: 9, max_tokens: 5, n: 3 }, "openai-chat")).toBe(27);
    expect(outputLimit({ max_output_tokens: 7 }, "openai-responses")).toBe(7);
    expect(outputLimit({ generationConfig: { maxOutputTokens: 6, candidateCount: 2 } }, "gemini")).toBe(12);
    for (const value of [-1, 0, "9", null, []]) expect(outputLimit({ max_tokens: value }, "anthropic")).toBeNull();
  });

  test("a model without a price makes the total cost unknown", async () => {
    const { gateway } = startGatewayFixture();
    const body = { ...clients.anthropic.body(true), model: "unknown" };
    await (await ask(gateway, "anthropic", { init: { body: JSON.stringify(body) } })).text();
    expect(gateway.spent()).toEqual({ usage, costUsd: null });
  });
});
